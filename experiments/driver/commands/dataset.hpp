// The parts of `retensor dataset` that stand in files of their own.
#pragma once

#include <string>

#include "experiments/driver/commands/options.hpp"

namespace retensor::driver {

void add_convert_options(po::options_description& options);
/// Writes INPUT as OUTPUT in the format that --to or the ending names, reads it back and compares.
int convert_dataset(const std::string& input, const std::string& output, const Given& given);

void add_fetch_options(po::options_description& options);
/// Fetches the data sets named, or those that --paper needs: sizes and disk space first, then file
/// by file. One that fails does not stop the others; returns the worst exit code.
int fetch_datasets(const Args& names, const DatasetRegistry& datasets, const Given& given);

}  // namespace retensor::driver
