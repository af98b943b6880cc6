#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scripted detection networks of torchvision find what PyTorch finds, on pictures of several sizes.

Weights are random, with a fixed seed; heads are scaled so that their answers differ from place to place. Boxes of nearly equal scores may
stand in another order: every detection of PyTorch must have one of ours of the same label whose box, score and mask are the same.
With names of networks as arguments those alone are tried, else the two small ones; "all" takes the six.
"""
import json
import sys
import tempfile
from pathlib import Path

from support import run

import numpy as np
import torch
from torchvision.models import detection

SMALL = {"min_size": 256, "max_size": 320, "num_classes": 21}
NETWORKS = {
    "ssdlite320_mobilenet_v3_large": {},
    "fasterrcnn_mobilenet_v3_large_320_fpn": {"num_classes": 21},
    "retinanet_resnet50_fpn": SMALL,
    "fcos_resnet50_fpn": SMALL,
    "maskrcnn_resnet50_fpn": SMALL,
    "keypointrcnn_resnet50_fpn": {"min_size": 256, "max_size": 320},
}
SPREAD = {"cls_logits": 2.5, "cls_score": 2.5, "bbox_pred": 0.5, "bbox_reg": 0.5, "bbox_ctrness": 1.5, "kps_score_lowres": 2.0, "mask_fcn_logits": 2.0}
SIZES = [(240, 320), (200, 200), (333, 500)]


def picture(seed, height, width):
    coarse = np.random.default_rng(seed).random((1, 3, height // 16 + 1, width // 16 + 1), dtype=np.float32)
    return torch.nn.functional.interpolate(torch.from_numpy(coarse), size=(height, width), mode="bilinear")[0]


def spread_of(name, module):
    last = name.split(".")[-1]
    if last in SPREAD:
        return SPREAD[last]
    if isinstance(module, torch.nn.Conv2d) and "classification_head" in name and module.out_channels % 91 == 0:
        return 2.5
    if isinstance(module, torch.nn.Conv2d) and "regression_head" in name and module.kernel_size == (1, 1) and module.out_channels <= 24:
        return 1.0
    return None


@torch.no_grad()
def made(name):
    torch.manual_seed(0)
    network = getattr(detection, name)(weights=None, weights_backbone=None, **NETWORKS[name]).eval()
    for module in network.modules():  # statistics of pictures
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = None
            module.reset_running_stats()
    network.backbone.train()
    network.backbone((torch.stack([picture(i, 256, 320) for i in range(2)]) - 0.45) / 0.225)
    network.eval()
    scaled = set()

    def scale(spread):
        def hook(module, inputs, output):
            if module in scaled:
                return None
            scaled.add(module)
            factor = spread / (output.std() + 1e-9)
            module.weight.mul_(factor)
            return output * factor

        return hook

    handles = [module.register_forward_hook(scale(spread)) for path, module in network.named_modules()
               if (spread := spread_of(path, module)) and hasattr(module, "weight")]
    network([picture(5, 250, 310)])
    for handle in handles:
        handle.remove()
    return torch.jit.script(network)


def matched(theirs, ours):
    """How many detections of theirs have an equal one among ours, and the largest differences of those (of a box relative to the picture)."""
    count, worst, moved = 0, {}, []
    extent = max(float(np.abs(theirs["boxes"]).max()), 1.0)
    free = set(range(len(ours["scores"])))
    for i in range(len(theirs["scores"])):
        for k in sorted(free, key=lambda k: abs(k - i)):
            box = float(np.abs(theirs["boxes"][i] - ours["boxes"][k]).max()) / extent
            score = abs(float(theirs["scores"][i]) - float(ours["scores"][k]))
            if theirs["labels"][i] == ours["labels"][k] and box < 2e-3 and score < 5e-3:
                free.remove(k)
                count += 1
                for name, difference in (("boxes", box), ("scores", score)):
                    worst[name] = max(worst.get(name, 0), difference)
                if "masks" in theirs:  # a pixel at the edge of a box may fall to either side
                    worst["masks, in the mean"] = max(worst.get("masks, in the mean", 0), float(np.abs(theirs["masks"][i] - ours["masks"][k]).mean()))
                if "keypoints" in theirs:  # the largest number of a map, of which another may be nearly as large
                    away = np.abs(theirs["keypoints"][i] - ours["keypoints"][k]).max(-1) / extent
                    moved.extend(away > 2e-3)
                    worst["keypoint scores"] = max(worst.get("keypoint scores", 0), float(np.abs(theirs["keypoints_scores"][i] - ours["keypoints_scores"][k]).max()))
                break
    if moved:
        worst["share of keypoints elsewhere"] = float(np.mean(moved))
    return count, worst


def check(name, folder):
    network = made(name)
    model, converted = folder / f"{name}.pt", folder / f"{name}.minnow"
    network.save(str(model))
    run("convert", model, converted)
    good = True
    for seed, (height, width) in enumerate(SIZES):
        x = picture(seed, height, width)
        with torch.no_grad():
            theirs = {key: value.numpy() for key, value in network([x])[1][0].items()}
        np.save(folder / "x.npy", x.numpy())
        said = run("run", converted, "--input", folder / "x.npy", "--output-dir", folder, "--json")
        ours = {row["name"]: np.load(row["file"]) for row in json.loads(said)["outputs"]}
        found = len(theirs["scores"])
        shapes = all(theirs[key].shape == ours[key].shape for key in theirs)
        count, worst = matched(theirs, ours) if shapes else (0, {})
        fine = shapes and found > 0 and count >= 0.96 * found and worst.get("share of keypoints elsewhere", 0) < 0.02 and worst.get("keypoint scores", 0) < 0.05
        good = good and fine
        print(f"{name} {height}x{width}: {count} of {found} detections" + "".join(f", {key} {value:.1e}" for key, value in worst.items()) + ("" if fine else " FAILED"), flush=True)
    return good


def main():
    names = sys.argv[1:] or list(NETWORKS)[:2]
    if names == ["all"]:
        names = list(NETWORKS)
    with tempfile.TemporaryDirectory() as folder:
        return 0 if all([check(name, Path(folder)) for name in names]) else 1


if __name__ == "__main__":
    sys.exit(main())
