// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

namespace minnow::python {
namespace {

using vision::ImageView;
using vision::Letterbox;
using vision::Scalar4;
using vision::Size;

// A Letterbox as numbers: scale, left, top, the source's width and height, and the size it lies in.
using Numbers = std::vector<double>;
Letterbox letterbox_of(const Numbers& n) {
  if (n.size() != 7) throw InvalidArgument("a letterbox has 7 numbers, not {}", n.size());
  for (const double number : n)
    if (!(std::abs(number) < 1e9)) throw InvalidArgument("a letterbox has the number {}", number);
  const auto whole = [&](size_t i) { return static_cast<int>(n[i]); };
  return {n[0], whole(1), whole(2), {whole(3), whole(4)}, {whole(5), whole(6)}};
}

std::pair<Tensor, Numbers> letterbox(const ImageView& img, const Size& size, const Scalar4& color, bool enlarge) {
  auto [picture, w] = vision::letterbox(img, size, color, enlarge);
  return {picture,
          {w.scale, static_cast<double>(w.left), static_cast<double>(w.top), static_cast<double>(w.source.width),
           static_cast<double>(w.source.height), static_cast<double>(w.size.width), static_cast<double>(w.size.height)}};
}
Tensor out_of_letterbox(const Floats& points, const Numbers& where) { return vision::out_of_letterbox(points, letterbox_of(where)); }
Tensor scale_masks(const Floats& masks, const Numbers& where, double threshold) {
  return vision::scale_masks(masks, letterbox_of(where), threshold);
}
Tensor decode_dfl(const Floats& distances, const Floats& points, const Floats& strides) {
  return vision::decode_dfl(distances.of_rank(2), points, strides);
}
std::pair<Tensor, Tensor> decode_yolo(const Floats& output, const std::vector<double>& anchors, int stride, int version) {
  return vision::decode_yolo(output.of_rank(3), anchors, stride, version);
}

std::vector<int> nms(const TensorView& boxes, const TensorView& scores, float overlap, float least_score,
                     const std::optional<Tensor>& classes, int most) {
  return vision::nms(boxes, scores, overlap, least_score, classes ? TensorView(*classes) : TensorView(), most);
}

std::vector<int> ctc_greedy(const Floats& scores, int blank) { return vision::ctc_greedy(scores.of_rank(2), blank); }
std::pair<std::vector<std::vector<int>>, std::vector<double>> ctc_beam(const Floats& probabilities, int width, int blank) {
  std::pair<std::vector<std::vector<int>>, std::vector<double>> result;
  for (auto& [labels, score] : vision::ctc_beam(probabilities.of_rank(2), width, blank)) {
    result.first.push_back(labels);
    result.second.push_back(score);
  }
  return result;
}

std::pair<Tensor, Tensor> db_boxes(const Floats& probabilities, double threshold, double least_score, double unclip, double least_side,
                                   int most) {
  const Tensor map = probabilities.of_rank(2);
  return vision::db_boxes(map, threshold, least_score, unclip, least_side, most);
}

}  // namespace

void define_detection(nb::module_& m) {
  define(m, "blobFromImages", vision::blob_from_images, {"images", "scalefactor", "size", "mean", "swapRB", "crop", "ddepth"});
  define(m, "imagesFromBlob", vision::images_from_blob, {"blob"});
  define(m, "NMSBoxes", vision::nms_boxes, {"bboxes", "scores", "score_threshold", "nms_threshold", "eta", "top_k"});
  define(m, "NMSBoxesBatched", vision::nms_boxes_batched,
         {"bboxes", "scores", "class_ids", "score_threshold", "nms_threshold", "eta", "top_k"});
  define(m, "NMSBoxesRotated", vision::nms_boxes_rotated, {"bboxes", "scores", "score_threshold", "nms_threshold", "eta", "top_k"});
  define(m, "softNMSBoxes", vision::soft_nms_boxes, {"bboxes", "scores", "score_threshold", "nms_threshold", "top_k", "sigma", "method"});
  define(m, "letterbox", letterbox, {"img", "size", "color", "enlarge"});
  define(m, "out_of_letterbox", out_of_letterbox, {"points", "letterbox"});
  define(m, "scale_masks", scale_masks, {"masks", "letterbox", "threshold"});
  define(m, "nms", nms, {"boxes", "scores", "overlap", "least_score", "classes", "most"});
  define(m, "decode_ssd", vision::decode_ssd, {"deltas", "priors", "variances"});
  define(m, "grid_points", vision::grid_points, {"size", "strides", "offset"});
  define(m, "decode_dfl", decode_dfl, {"distances", "points", "strides"});
  define(m, "decode_yolo", decode_yolo, {"output", "anchors", "stride", "version"});
  define(m, "ctc_greedy", ctc_greedy, {"scores", "blank"});
  define(m, "ctc_beam", ctc_beam, {"probabilities", "width", "blank"});
  define(m, "db_boxes", db_boxes, {"probabilities", "threshold", "least_score", "unclip", "least_side", "most"});
}

}  // namespace minnow::python
