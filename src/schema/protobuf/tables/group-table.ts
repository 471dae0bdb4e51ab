/**
 * The messages of a group by version and name, each as its fields `number name type`, ascending and parted by `; `.
 *
 * - A type is a scalar (`string bool int32 int64 float64 bytes`), a special form (`time microtime duration quantity intorstring raw`) or a message:
 *   of the same group version, else of `meta/v1`, else spelled out as `core/v1.Pod`.
 * - `[]T` is a list, `{T}` a map from strings, `*T` a field that may be unset, `T!` a scalar, list or map that is there in JSON even when it is zero.
 * - `+T` stands for the fields of `T`, which JSON has in the object itself; `^name` for a schema extension.
 * - `@` leads a message that is a kind of its own. `=` leads one that JSON writes as whichever of its fields is set.
 */
export type GroupTable = Readonly<Record<string, Readonly<Record<string, string>>>>;
