#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "num/quantity.h"

namespace drachma {
namespace {

// Numbers of all sizes: mantissas to 24 digits, every suffix.
rc::Gen<std::string> QuantityText() {
  const auto digits = rc::gen::resize(
      24, rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('0', char('9' + 1)))));
  const auto suffix = rc::gen::element<std::string>("", "n", "u", "m", "k", "M", "G", "T", "P", "E",
                                                    "Ki", "Mi", "Gi", "Ti", "Pi", "e3", "e-3");
  return rc::gen::map(rc::gen::tuple(rc::gen::element<std::string>("", "-"), digits, suffix),
                      [](const auto& parts) {
                        return std::get<0>(parts) + std::get<1>(parts) + std::get<2>(parts);
                      });
}

Quantity Any() { return Quantity::Parse(*QuantityText()).value(); }

RC_GTEST_PROP(QuantityProperty, WhatIsPrintedIsTheSameNumber, ()) {
  const Quantity a = Any();
  const auto again = Quantity::Parse(a.ToString());
  RC_ASSERT(again.has_value());
  // Reading caps binary numbers at int64, which sums may exceed; a read number never does.
  RC_ASSERT(a.Compare(*again) == 0);
}

RC_GTEST_PROP(QuantityProperty, ComparingIsATotalOrder, ()) {
  const Quantity a = Any();
  const Quantity b = Any();
  const Quantity c = Any();
  RC_ASSERT(a.Compare(b) == -b.Compare(a));
  if (a.Compare(b) <= 0 && b.Compare(c) <= 0) RC_ASSERT(a.Compare(c) <= 0);
}

RC_GTEST_PROP(QuantityProperty, SumsCommuteAndAssociate, ()) {
  const Quantity a = Any();
  const Quantity b = Any();
  const Quantity c = Any();
  Quantity left = a;
  left.Add(b);
  left.Add(c);
  Quantity right = c;
  right.Add(b);
  right.Add(a);
  RC_ASSERT(left.Compare(right) == 0);
}

RC_GTEST_PROP(QuantityProperty, SubtractingUndoesAdding, ()) {
  const Quantity a = Any();
  const Quantity b = Any();
  Quantity sum = a;
  sum.Add(b);
  RC_ASSERT(sum.Compare(a) == b.Sign());
  sum.Sub(b);
  RC_ASSERT(sum.Compare(a) == 0);
}

RC_GTEST_PROP(QuantityProperty, RoundingUpNeverComesNearerToZero, ()) {
  const Quantity a = Any();
  Quantity rounded = a;
  const bool exact = rounded.RoundUp(kScaleUnit);
  RC_ASSERT(exact == (rounded.Compare(a) == 0));
  if (!exact) RC_ASSERT(rounded.Compare(a) == a.Sign());
}

}  // namespace
}  // namespace drachma
