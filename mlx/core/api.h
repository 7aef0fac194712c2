// Symbol visibility. Everything that is not marked MLX_API is hidden, which makes calls within the
// library direct and keeps internal names out of the dynamic symbol table.
#pragma once

/// Marks a function, variable or class that applications, extensions or the bindings link against,
/// and a class that they catch, derive from or use with RTTI.
#define MLX_API __attribute__((visibility("default")))
