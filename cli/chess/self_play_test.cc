#include "cli/chess/self_play.h"

#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/chess/fen.h"
#include "records/chess/moves.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using chess::Position;

// Evaluates the side to move as 50 better and plays its first legal move.
absl::StatusOr<Evaluation> FirstMove(const Position& position) {
  return Evaluation{false, 50, FormatMove(LegalMoves(position)[0])};
}

std::string Lines(const std::vector<ScoredPosition>& game) {
  std::string lines;
  for (const ScoredPosition& scored : game) {
    lines += FormatFen(scored.position) + " " + scored.score + "\n";
  }
  return lines;
}

TEST(SelfPlayTest, IsAFunctionOfItsKey) {
  ASSERT_OK_AND_ASSIGN(const auto game, PlayGame({}, 7, FirstMove));
  ASSERT_OK_AND_ASSIGN(const auto again, PlayGame({}, 7, FirstMove));
  ASSERT_OK_AND_ASSIGN(const auto other, PlayGame({}, 8, FirstMove));
  EXPECT_EQ(Lines(game), Lines(again));
  EXPECT_NE(Lines(game), Lines(other));
}

TEST(SelfPlayTest, ScoresFromWhitesView) {
  ASSERT_OK_AND_ASSIGN(const auto game, PlayGame({}, 7, FirstMove));
  ASSERT_FALSE(game.empty());
  for (const ScoredPosition& scored : game) {
    if (LegalMoves(scored.position).empty()) continue;
    EXPECT_EQ(scored.score, scored.position.side_to_move == chess::kWhite ? "+50" : "-50");
  }
}

TEST(SelfPlayTest, RecordsTheMateOnTheBoard) {
  const std::map<int, Evaluation> fools_mate = {{0, {false, 0, "f2f3"}},
                                                {1, {false, 80, "e7e5"}},
                                                {2, {true, -1, "g2g4"}},
                                                {3, {true, 1, "d8h4"}}};
  int ply = 0;
  ASSERT_OK_AND_ASSIGN(const auto game,
                       PlayGame({.min_opening_plies = 0, .max_opening_plies = 0, .random_moves = 0},
                                1, [&](const Position&) { return fools_mate.at(ply++); }));
  std::vector<std::string> scores;
  for (const ScoredPosition& scored : game) scores.push_back(scored.score);
  EXPECT_THAT(scores, ::testing::ElementsAre("0", "-80", "#-1", "#-1", "#-0"));
}

TEST(SelfPlayTest, EndsAtItsLength) {
  const SelfPlayOptions options = {
      .min_opening_plies = 4, .max_opening_plies = 4, .max_plies = 10, .random_moves = 0};
  EXPECT_THAT(PlayGame(options, 3, FirstMove), IsOkAndHolds(::testing::SizeIs(6)));
}

TEST(SelfPlayTest, ItsLengthIncludesTheOpeningThatWasPlayed) {
  const SelfPlayOptions options = {
      .min_opening_plies = 0, .max_opening_plies = 9, .max_plies = 10, .random_moves = 0};
  for (uint64_t key = 0; key < 20; ++key) {
    ASSERT_OK_AND_ASSIGN(const auto game, PlayGame(options, key, FirstMove));
    ASSERT_FALSE(game.empty());
    const Position& last = game.back().position;
    const int plies = 2 * (last.fullmove_number - 1) + (last.side_to_move == chess::kBlack);
    EXPECT_EQ(plies, 9);  // Number of plies before the last position. Its own move is the tenth.
  }
}

TEST(SelfPlayTest, RefusesAnIllegalMove) {
  const auto cheat = [](const Position&) -> absl::StatusOr<Evaluation> {
    return Evaluation{false, 1, "e1e8"};
  };
  EXPECT_THAT(PlayGame({}, 1, cheat),
              StatusIs(absl::StatusCode::kInternal, ::testing::HasSubstr("'e1e8' is not legal")));
}

TEST(SelfPlayTest, PassesOnErrors) {
  const auto fail = [](const Position&) -> absl::StatusOr<Evaluation> {
    return absl::UnavailableError("gone");
  };
  EXPECT_THAT(PlayGame({}, 1, fail), StatusIs(absl::StatusCode::kUnavailable, "gone"));
}

}  // namespace
}  // namespace penstock
