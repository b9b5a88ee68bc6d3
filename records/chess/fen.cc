#include "records/chess/fen.h"

#include <bit>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "records/chess/attacks.h"

namespace penstock::chess {
namespace {

constexpr absl::string_view kCastlingLetters = "KQkq";
constexpr int kMaxClock = 9999;

template <typename... Args>
absl::Status Bad(const Args&... args) {
  return absl::InvalidArgumentError(absl::StrCat(args...));
}

std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::CHexEscape(text.substr(0, 80)), "'");
}

// Parses one rank into `position`. The first rank of a FEN is rank 8.
absl::Status ParseRank(absl::string_view text, int rank, Position& position) {
  int file = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_gap = c >= '1' && c <= '8';
    const std::optional<Piece> piece = PieceOfLetter(c);
    if (!is_gap && !piece.has_value()) {
      return Bad("board: rank ", rank + 1, ": ", Quoted(text.substr(i, 1)), " is neither one of ",
                 "PNBRQKpnbrqk nor 1 to 8");
    }
    if (file + (is_gap ? c - '0' : 1) > 8) {
      return Bad("board: rank ", rank + 1, ": more than 8 squares in ", Quoted(text));
    }
    if (piece.has_value()) {
      position.pieces[piece->color][piece->type] |= Bit(MakeSquare(file, rank));
    }
    file += is_gap ? c - '0' : 1;
  }
  if (file != 8) return Bad("board: rank ", rank + 1, ": ", file, " squares in ", Quoted(text));
  return absl::OkStatus();
}

absl::Status ParseBoard(absl::string_view text, Position& position) {
  const std::vector<absl::string_view> ranks = absl::StrSplit(text, '/');
  if (ranks.size() != 8) return Bad("board: ", ranks.size(), " ranks instead of 8");
  for (int i = 0; i < 8; ++i) {
    PENSTOCK_RETURN_IF_ERROR(ParseRank(ranks[i], 7 - i, position));
  }
  return absl::OkStatus();
}

absl::Status ParseSide(absl::string_view text, Position& position) {
  if (text != "w" && text != "b") return Bad("side to move: ", Quoted(text), " is not w or b");
  position.side_to_move = text == "w" ? kWhite : kBlack;
  return absl::OkStatus();
}

absl::Status ParseCastling(absl::string_view text, Position& position) {
  if (text == "-") return absl::OkStatus();
  size_t next = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t found = kCastlingLetters.find(text[i], next);
    if (found == absl::string_view::npos) {
      return Bad("castling: ", Quoted(text.substr(i, 1)), " in ", Quoted(text),
                 ": expected '-' or letters of KQkq in this order");
    }
    position.castling |= 1 << found;
    next = found + 1;
  }
  if (text.empty()) return Bad("castling: the field is empty; write '-' for no castling rights");
  return absl::OkStatus();
}

absl::Status ParseEnPassant(absl::string_view text, Position& position) {
  if (text == "-") return absl::OkStatus();
  const char rank = position.side_to_move == kWhite ? '6' : '3';
  if (text.size() != 2 || text[0] < 'a' || text[0] > 'h' || text[1] != rank) {
    return Bad("en passant: ", Quoted(text), " is neither '-' nor a square of rank ",
               absl::string_view(&rank, 1));
  }
  position.en_passant = MakeSquare(text[0] - 'a', text[1] - '1');
  return absl::OkStatus();
}

absl::Status ParseClock(absl::string_view name, absl::string_view text, int min, int& value) {
  value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return Bad(name, ": ", Quoted(text), " is not a number");
    value = 10 * value + (c - '0');
    if (value > kMaxClock) return Bad(name, ": ", Quoted(text), " is above ", kMaxClock);
  }
  if (text.empty()) return Bad(name, ": empty");
  if (value < min) return Bad(name, ": ", value, " is below ", min);
  return absl::OkStatus();
}

absl::Status CheckKingsAndPawns(const Position& position) {
  for (Color color : {kWhite, kBlack}) {
    const char* name = color == kWhite ? "white" : "black";
    const int kings = std::popcount(position.pieces[color][kKing]);
    if (kings != 1) return Bad("board: ", kings, " ", name, " kings");
    constexpr Bitboard kEdgeRanks = 0xff000000000000ffull;
    if (const Bitboard bad = position.pieces[color][kPawn] & kEdgeRanks; bad != 0) {
      return Bad("board: a ", name, " pawn on ", SquareName(std::countr_zero(bad)));
    }
  }
  if (InCheck(position, Opponent(position.side_to_move))) {
    return Bad("board: the side to move, ", position.side_to_move == kWhite ? "w" : "b",
               ", could capture the king");
  }
  return absl::OkStatus();
}

absl::Status CheckCastling(const Position& position) {
  for (int right = 0; right < 4; ++right) {
    if ((position.castling & (1 << right)) == 0) continue;
    const Color color = right < 2 ? kWhite : kBlack;
    const int rank = color == kWhite ? 0 : 7;
    const Square rook = MakeSquare(right % 2 == 0 ? 7 : 0, rank);
    const Square king = MakeSquare(4, rank);
    if (position.PieceAt(king) != Piece{color, kKing} ||
        position.PieceAt(rook) != Piece{color, kRook}) {
      return Bad("castling: ", Quoted(kCastlingLetters.substr(right, 1)), " needs the king on ",
                 SquareName(king), " and a rook on ", SquareName(rook));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckEnPassant(const Position& position) {
  if (!position.en_passant.has_value()) return absl::OkStatus();
  const Square target = *position.en_passant;
  const Color jumper = Opponent(position.side_to_move);
  const int forward = jumper == kWhite ? 8 : -8;
  const Bitboard must_be_empty = Bit(target) | Bit(target - forward);
  if ((position.Occupied() & must_be_empty) != 0 ||
      (position.pieces[jumper][kPawn] & Bit(target + forward)) == 0) {
    return Bad("en passant: no pawn has just jumped over ", SquareName(target));
  }
  return absl::OkStatus();
}

std::string FormatBoard(const Position& position) {
  std::string text;
  for (int rank = 7; rank >= 0; --rank) {
    int gap = 0;
    for (int file = 0; file < 8; ++file) {
      const std::optional<Piece> piece = position.PieceAt(MakeSquare(file, rank));
      if (!piece.has_value()) {
        ++gap;
        continue;
      }
      if (gap > 0) absl::StrAppend(&text, gap);
      gap = 0;
      text += PieceLetter(*piece);
    }
    if (gap > 0) absl::StrAppend(&text, gap);
    if (rank > 0) text += '/';
  }
  return text;
}

}  // namespace

absl::StatusOr<Position> ParseFen(absl::string_view fen) {
  // The longest legal FEN has fewer than 100 characters. This check comes before a line of
  // megabytes is split.
  if (fen.size() > 128) return Bad("a FEN of ", fen.size(), " characters: ", Quoted(fen));
  const std::vector<absl::string_view> fields = absl::StrSplit(fen, ' ');
  if (fields.size() != 6) {
    return Bad("a FEN has 6 fields with one space between (board, side to move, castling, en ",
               "passant, half-move clock, move number), this has ", fields.size(), ": ",
               Quoted(fen));
  }
  Position position;
  PENSTOCK_RETURN_IF_ERROR(ParseBoard(fields[0], position));
  PENSTOCK_RETURN_IF_ERROR(ParseSide(fields[1], position));
  PENSTOCK_RETURN_IF_ERROR(ParseCastling(fields[2], position));
  PENSTOCK_RETURN_IF_ERROR(ParseEnPassant(fields[3], position));
  PENSTOCK_RETURN_IF_ERROR(ParseClock("half-move clock", fields[4], 0, position.halfmove_clock));
  PENSTOCK_RETURN_IF_ERROR(ParseClock("move number", fields[5], 1, position.fullmove_number));
  PENSTOCK_RETURN_IF_ERROR(CheckKingsAndPawns(position));
  PENSTOCK_RETURN_IF_ERROR(CheckCastling(position));
  PENSTOCK_RETURN_IF_ERROR(CheckEnPassant(position));
  return position;
}

std::string FormatFen(const Position& position) {
  std::string castling;
  for (int right = 0; right < 4; ++right) {
    if (position.castling & (1 << right)) castling += kCastlingLetters[right];
  }
  if (castling.empty()) castling = "-";
  return absl::StrCat(FormatBoard(position), position.side_to_move == kWhite ? " w " : " b ",
                      castling, " ", position.en_passant ? SquareName(*position.en_passant) : "-",
                      " ", position.halfmove_clock, " ", position.fullmove_number);
}

}  // namespace penstock::chess
