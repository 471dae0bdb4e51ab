/**
 * Markers of a type's fields that add to its field table, as words in any order:
 *
 *     :TYPE          the type, if the table has none or another one
 *     required, optional, removed
 *     atomic, set, map(k1,k2), granular        how server-side apply merges
 *     patch=STRATEGY, patch=STRATEGY(key)      how a strategic patch merges
 *     value          held by value: absent means the zero value
 *     omitted        an empty value is not shown, though absent means the zero value
 *     outermost      an empty value is shown in the metadata of the whole object, and not in that of nested objects
 *     null           shown as null if absent
 *     none           no default, though it is required
 *     =JSON          the default
 *     bare           documents refer to the type without a description
 *
 * `*` stands for the type itself, with these additional markers:
 *
 *     required(a,b)   the order of required fields, if it is not alphabetical
 *     pointers(a,b)   optional scalars for which empty differs from absent
 *     kept(a,b)       optional lists for which empty differs from absent
 *     union(discriminator;field=Name)
 */
export type TypeMarkers = Readonly<Record<string, string>>;

/** Markers by version, type and field. A type without a field table is defined by its markers alone. */
export type GroupMarkers = Readonly<Record<string, Readonly<Record<string, TypeMarkers>>>>;
