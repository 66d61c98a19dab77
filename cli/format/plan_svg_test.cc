#include "cli/format/plan_svg.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sdp::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

v1::Plan PlanOf(int workers, const std::string& row) {
  v1::Plan plan;
  for (int rank = 0; rank < workers; ++rank) {
    plan.add_members()->set_worker(absl::StrCat("worker-", rank));
    plan.add_mask(row);
  }
  plan.mutable_summary()->set_active_ratio(0.5);
  plan.mutable_summary()->set_spectral_gap(0.8333);
  plan.mutable_summary()->set_spectral_gap_bound(0.8571);
  return plan;
}

int CountOf(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(PlanSvg, IsThisDocument) {
  EXPECT_EQ(
      PlanSvg(PlanOf(2, "10")),
      R"svg(<svg xmlns="http://www.w3.org/2000/svg" width="504" height="146" viewBox="0 0 504 146" role="img">
<title>Mask: 2 workers, 2 blocks, C 0.5, gap 0.8333 (bound 0.8571)</title>
<style>
.paper{fill:#ffffff}.text{fill:#1f2328;font:12px sans-serif}.title{font-size:14px;font-weight:bold}
.quiet{fill:#59636e}.held{fill:#0969da}.empty{fill:#e6eaef}
@media(prefers-color-scheme:dark){.paper{fill:#0d1117}.text{fill:#e6edf3}.quiet{fill:#9198a1}
.held{fill:#58a6ff}.empty{fill:#262c36}}
</style>
<rect class="paper" width="504" height="146"/>
<text class="text title" x="16" y="28" text-anchor="start">Mask: 2 workers, 2 blocks, C 0.5, gap 0.8333 (bound 0.8571)</text>
<text class="text quiet" x="92" y="58" text-anchor="middle">0</text>
<text class="text quiet" x="116" y="58" text-anchor="middle">1</text>
<text class="text" x="72" y="77" text-anchor="end">worker-0</text>
<text class="text quiet" x="136" y="77" text-anchor="start">1/2</text>
<text class="text" x="72" y="95" text-anchor="end">worker-1</text>
<text class="text quiet" x="136" y="95" text-anchor="start">1/2</text>
<pattern id="cell" patternUnits="userSpaceOnUse" x="80" y="64" width="24" height="18"><rect class="empty" width="23" height="17"/></pattern>
<rect fill="url(#cell)" x="80" y="64" width="48" height="36"/>
<path class="held" fill-opacity="1" d="M80 64h23v17h-23zM80 82h23v17h-23z"/>
<text class="text quiet" x="16" y="130" text-anchor="start">rows: workers; columns: blocks; filled: held</text>
</svg>
)svg");
}

TEST(PlanSvg, NamesAreEscaped) {
  v1::Plan plan = PlanOf(1, "1");
  plan.mutable_members(0)->set_worker("<a>&\"b\"\n\xff");
  const std::string svg = PlanSvg(plan);
  EXPECT_THAT(svg, HasSubstr(">&lt;a&gt;&amp;&quot;b&quot; ?</text>"));
}

TEST(PlanSvg, LargeMasksAreFoldedAndLabelledNowAndThen) {
  const std::string svg = PlanSvg(PlanOf(1000, std::string(500, '1') + std::string(500, '0')));
  EXPECT_THAT(svg, HasSubstr("the stronger a cell, the more of its 11 workers x 7 blocks are held"));
  EXPECT_THAT(svg, HasSubstr(">0-10</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">11-21</text>")));  // the rows are lower than the letters
  EXPECT_THAT(svg, HasSubstr(">22-32</text>"));
  EXPECT_THAT(svg, HasSubstr("fill-opacity=\"0.4375\""));  // the middle column: 3 of 7
  EXPECT_EQ(CountOf(svg, "<path"), 2);
  EXPECT_LT(svg.size(), 300'000);
}

TEST(PlanSvg, ColumnLabelsDoNotOverlap) {
  const std::string svg = PlanSvg(PlanOf(1, std::string(150, '1')));
  EXPECT_THAT(svg, HasSubstr(">0</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">4</text>")));
  EXPECT_THAT(svg, HasSubstr(">5</text>"));
  EXPECT_THAT(svg, HasSubstr(">145</text>"));
}

TEST(PlanSvg, NeedsNothingElse) {
  const std::string svg = PlanSvg(PlanOf(3, "101"));
  EXPECT_THAT(svg, StartsWith("<svg "));
  EXPECT_EQ(CountOf(svg, "http"), 1);  // the name space
  EXPECT_THAT(svg, Not(HasSubstr("script")));
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme:dark"));
}

TEST(PlanSvg, APlanWithoutAMaskIsNoReasonToCrash) {
  EXPECT_THAT(PlanSvg(v1::Plan()), HasSubstr("Mask: 0 workers, 0 blocks"));
}

}  // namespace
}  // namespace sdp::cli
