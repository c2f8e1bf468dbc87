// The one exception hierarchy. What a caller does about an error depends on its kind alone.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace retensor {

/// Base of every error; `what()` is the message with all context added on the way up.
class Error : public std::runtime_error {
 public:
  explicit Error(std::string message) : std::runtime_error(message), message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

  /// Prepends "where: " to the message; catch by reference, call this, rethrow with `throw;`.
  void add_context(const std::string& where) { message_ = where + ": " + message_; }

 private:
  std::string message_;
};

/// The user's input is wrong: a file, a spec, a parameter. The program exits with code 2.
class InputError : public Error {
 public:
  using Error::Error;
};

/// A place in a text file; line and column count from 1, 0 means unknown.
struct FilePosition {
  std::string file;
  std::uint64_t line = 0;
  std::uint64_t column = 0;
};

/// Wrong input at a known place: "file:line:column: found ..., expected ...".
class ParseError : public InputError {
 public:
  ParseError(FilePosition where, const std::string& found, const std::string& expected);
  const FilePosition& position() const { return position_; }

 private:
  FilePosition position_;
};

/// The system refused: full disk, unreadable file, lock held by another process.
class SystemError : public Error {
 public:
  using Error::Error;
};

/// Host or device memory does not suffice; the case becomes a row with status oom.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// A CUDA call or launch failed; the message names the call and the source line.
class DeviceError : public Error {
 public:
  using Error::Error;
};

/// A broken invariant of this program.
class LogicError : public Error {
 public:
  using Error::Error;
};

}  // namespace retensor
