#include "records/chess/moves.h"

#include <bit>

#include "records/chess/attacks.h"

namespace penstock::chess {
namespace {

constexpr PieceType kPromotions[] = {kQueen, kRook, kBishop, kKnight};

// The castling rights that remain after a piece left or reached `square`.
int RightsKept(Square square) {
  switch (square) {
    case MakeSquare(0, 0):
      return ~kWhiteLong;
    case MakeSquare(4, 0):
      return ~(kWhiteShort | kWhiteLong);
    case MakeSquare(7, 0):
      return ~kWhiteShort;
    case MakeSquare(0, 7):
      return ~kBlackLong;
    case MakeSquare(4, 7):
      return ~(kBlackShort | kBlackLong);
    case MakeSquare(7, 7):
      return ~kBlackShort;
    default:
      return ~0;
  }
}

void AddPawnMove(Square from, Square to, std::vector<Move>& moves) {
  if (RankOf(to) != 0 && RankOf(to) != 7) {
    moves.push_back({from, to, std::nullopt});
    return;
  }
  for (PieceType type : kPromotions) moves.push_back({from, to, type});
}

void AddPawnMoves(const Position& position, Square from, std::vector<Move>& moves) {
  const Color us = position.side_to_move;
  const Bitboard occupied = position.Occupied();
  const int forward = us == kWhite ? 8 : -8;
  const int home_rank = us == kWhite ? 1 : 6;
  if ((occupied & Bit(from + forward)) == 0) {
    AddPawnMove(from, from + forward, moves);
    if (RankOf(from) == home_rank && (occupied & Bit(from + 2 * forward)) == 0) {
      AddPawnMove(from, from + 2 * forward, moves);
    }
  }
  Bitboard targets = position.PiecesOf(Opponent(us));
  if (position.en_passant.has_value()) targets |= Bit(*position.en_passant);
  Bitboard captures = AttacksFrom({us, kPawn}, from, occupied) & targets;
  for (; captures != 0; captures &= captures - 1) {
    AddPawnMove(from, std::countr_zero(captures), moves);
  }
}

void AddPieceMoves(const Position& position, PieceType type, Square from,
                   std::vector<Move>& moves) {
  const Color us = position.side_to_move;
  Bitboard to = AttacksFrom({us, type}, from, position.Occupied()) & ~position.PiecesOf(us);
  for (; to != 0; to &= to - 1) moves.push_back({from, std::countr_zero(to), std::nullopt});
}

// The king may not leave, cross or reach an attacked square. The check of legality, which runs for
// every move, covers the square that it reaches.
void AddCastling(const Position& position, std::vector<Move>& moves) {
  const Color us = position.side_to_move;
  const Square king = MakeSquare(4, us == kWhite ? 0 : 7);
  const Bitboard occupied = position.Occupied();
  const int short_right = us == kWhite ? kWhiteShort : kBlackShort;
  const int long_right = us == kWhite ? kWhiteLong : kBlackLong;
  const auto safe = [&](Square square) { return !IsAttacked(position, square, Opponent(us)); };
  if ((position.castling & (short_right | long_right)) == 0 || !safe(king)) return;
  if ((position.castling & short_right) && (occupied & (Bit(king + 1) | Bit(king + 2))) == 0 &&
      safe(king + 1)) {
    moves.push_back({king, king + 2, std::nullopt});
  }
  if ((position.castling & long_right) &&
      (occupied & (Bit(king - 1) | Bit(king - 2) | Bit(king - 3))) == 0 && safe(king - 1)) {
    moves.push_back({king, king - 2, std::nullopt});
  }
}

void MovePiece(Position& position, Piece piece, Square from, Square to) {
  position.pieces[piece.color][piece.type] ^= Bit(from) | Bit(to);
}

void MoveCastlingRook(Position& position, const Move& move) {
  const bool is_short = move.to > move.from;
  MovePiece(position, {position.side_to_move, kRook}, is_short ? move.to + 1 : move.to - 2,
            is_short ? move.to - 1 : move.to + 1);
}

// Removes a captured piece. Returns whether there was one.
bool RemoveCaptured(Position& position, const Move& move, bool is_pawn) {
  const Color them = Opponent(position.side_to_move);
  Square captured = move.to;
  if (is_pawn && position.en_passant == move.to) {
    captured += position.side_to_move == kWhite ? -8 : 8;
  }
  const bool any = (position.PiecesOf(them) & Bit(captured)) != 0;
  for (Bitboard& board : position.pieces[them]) board &= ~Bit(captured);
  return any;
}

}  // namespace

std::vector<Move> LegalMoves(const Position& position) {
  std::vector<Move> moves;
  const Color us = position.side_to_move;
  for (int type = 0; type < kNumPieceTypes; ++type) {
    for (Bitboard left = position.pieces[us][type]; left != 0; left &= left - 1) {
      const Square from = std::countr_zero(left);
      if (type == kPawn) {
        AddPawnMoves(position, from, moves);
      } else {
        AddPieceMoves(position, static_cast<PieceType>(type), from, moves);
      }
    }
  }
  AddCastling(position, moves);
  std::erase_if(moves, [&](const Move& move) { return InCheck(Play(position, move), us); });
  return moves;
}

Position Play(const Position& position, const Move& move) {
  Position next = position;
  const Piece piece = *position.PieceAt(move.from);
  const bool is_pawn = piece.type == kPawn;
  const bool captured = RemoveCaptured(next, move, is_pawn);
  MovePiece(next, piece, move.from, move.to);
  const bool is_two_squares = move.to - move.from == 2 || move.from - move.to == 2;
  if (piece.type == kKing && is_two_squares) MoveCastlingRook(next, move);
  if (move.promotion.has_value()) {
    next.pieces[piece.color][kPawn] &= ~Bit(move.to);
    next.pieces[piece.color][*move.promotion] |= Bit(move.to);
  }
  next.castling &= RightsKept(move.from) & RightsKept(move.to);
  next.halfmove_clock = is_pawn || captured ? 0 : position.halfmove_clock + 1;
  next.fullmove_number += position.side_to_move == kBlack ? 1 : 0;
  next.side_to_move = Opponent(position.side_to_move);
  next.en_passant.reset();
  if (is_pawn && (move.to - move.from == 16 || move.from - move.to == 16)) {
    next.en_passant = (move.from + move.to) / 2;
    if (!EnPassantPossible(next)) next.en_passant.reset();
  }
  return next;
}

bool IsDeadByMaterial(const Position& position) {
  int minor_pieces = 0;
  for (Color color : {kWhite, kBlack}) {
    const auto& own = position.pieces[color];
    if ((own[kPawn] | own[kRook] | own[kQueen]) != 0) return false;
    minor_pieces += std::popcount(own[kKnight] | own[kBishop]);
  }
  return minor_pieces <= 1;
}

std::string FormatMove(const Move& move) {
  std::string text = SquareName(move.from) + SquareName(move.to);
  if (move.promotion.has_value()) text += PieceLetter({kBlack, *move.promotion});
  return text;
}

std::optional<Move> FindMove(const Position& position, absl::string_view text) {
  for (const Move& move : LegalMoves(position)) {
    if (FormatMove(move) == text) return move;
  }
  return std::nullopt;
}

}  // namespace penstock::chess
