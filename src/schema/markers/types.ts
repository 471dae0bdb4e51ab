/**
 * Facts about the fields of a type that its field table does not tell, as words in any order:
 *
 *     :TYPE          the type, where the table has none or another one
 *     required, optional, removed
 *     atomic, set, map(k1,k2), granular        how server-side apply merges
 *     patch=STRATEGY, patch=STRATEGY(key)      how a strategic patch merges
 *     value          held by value: absent means the zero value
 *     omitted        an empty value is not shown, though absent means the zero value
 *     null           shown as null where there is none
 *     none           no default, though it is required
 *     =JSON          the default
 *     bare           documents refer to the type without a word beside the reference
 *
 * `*` stands for the type itself, of which there is also to say:
 *
 *     required(a,b)   the order of what is required, where that is not the alphabet's
 *     pointers(a,b)   optional scalars for which empty is not absent
 *     kept(a,b)       optional lists for which empty is not absent
 *     union(discriminator;field=Name)
 */
export type TypeMarkers = Readonly<Record<string, string>>;

/** Version, type, field. A type that no table has is made of its facts alone. */
export type GroupMarkers = Readonly<Record<string, Readonly<Record<string, TypeMarkers>>>>;
