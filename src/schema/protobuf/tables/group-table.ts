/**
 * The messages of a group by version and name, each as its fields `number name type`, ascending and separated by `; `.
 *
 * - A type is a scalar (`string bool int32 int64 float64 bytes`), a special encoding (`time microtime duration quantity
 *   intorstring raw`) or a message: of the same group version, else of `meta/v1`, else with its group version as in
 *   `core/v1.Pod`.
 * - `[]T` is a list, `{T}` a map from strings, `*T` a field that may be unset, `T!` a scalar, list or map that JSON has
 *   even if it is zero.
 * - `+T` inlines the fields of `T` into the object; `^name` is a schema extension.
 * - `@` precedes a message that is a kind of its own. `=` precedes one that JSON writes as the value of the field that
 *   is set.
 */
export type GroupTable = Readonly<Record<string, Readonly<Record<string, string>>>>;
