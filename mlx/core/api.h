// What crosses the boundary of the library. Everything else is hidden: it links to itself faster,
// and its names are nobody else's concern.
#pragma once

/// A function, variable or class that applications, extensions and the bindings link against, and a
/// class that they catch, derive from or ask for its type.
#define MLX_API __attribute__((visibility("default")))
