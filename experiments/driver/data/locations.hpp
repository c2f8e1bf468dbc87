// Where the source tree and its data lie, so that commands work from any directory.
#pragma once

#include <string>

namespace retensor::driver {

/// The value of an environment variable, empty where it is not set.
std::string environment(const char* name);

/// Root of the source tree: $RETENSOR_ROOT, else the nearest directory at or above the working
/// directory, then above the program itself, that holds experiments/schema, else what was installed
/// with the program, else the tree in which it was built. Throws InputError when none exists.
std::string source_root();
/// Whether the tree is what `meson install` or a wheel makes: it holds no tests.
bool is_installed(const std::string& root);
std::string default_registry();  ///< <root>/datasets/registry.yaml
/// datasets/recipes of the program's own tree, wherever it is called: recipes are code.
std::string default_recipes();
/// $RETENSOR_CACHE, else <root>/cache; of an installed tree, which has installed.txt, retensor in
/// $XDG_CACHE_HOME, else in ~/.cache.
std::string default_cache();
/// $RETENSOR_SHARED_CACHE: a cache that is only read, such as one that a group keeps; empty: none.
std::string shared_cache();
std::string experiments_root();  ///< <root>/experiments

/// What a command works with.
struct Locations {
  std::string registry = default_registry(), recipes = default_recipes(), cache = default_cache();
};

}  // namespace retensor::driver
