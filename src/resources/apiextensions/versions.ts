import {sameJson} from '#src/api/equal.js';
import {emptiedFields} from '#src/schema/emptied.js';
import type {JsonSchema} from '#src/schema/json-schema.js';
import type {PrinterColumn, SelectableField, Spec, Subresources, Version} from './types.js';

// The fields of a definition's versions. The original validates a definition in its internal form, where schemas,
// subresources, columns and selectable fields that all versions share are at the top; `hoistShared` builds that form,
// so that errors get the same paths.

/** Returns the schema of a version as its definition writes it; a stored one has been validated. */
export const schemaOf = ({schema}: {readonly schema?: Version['schema'] | undefined}): JsonSchema | undefined =>
  schema?.openAPIV3Schema as unknown as JsonSchema | undefined;

/** The fields of a version, or those that all versions share. */
export interface VersionFields {
  readonly schema?: NonNullable<Version['schema']>;
  readonly subresources?: Subresources;
  readonly additionalPrinterColumns?: readonly PrinterColumn[];
  readonly selectableFields?: readonly SelectableField[];
}

/** Restores the empty keywords at the root of each schema, where the original distinguishes empty from absent. */
export const withEmptyKeywords = (spec: Readonly<Spec>): Readonly<Spec> => ({
  ...spec,
  versions: (spec.versions ?? []).map(version => {
    const schema = schemaOf(version);
    const keywords = [...emptiedFields(schema)].filter(([, value]) => value);
    return schema && keywords.length > 0
      ? {...version, schema: {openAPIV3Schema: {...schema, ...Object.fromEntries(keywords)}} as NonNullable<Version['schema']>}
      : version;
  }),
});

/** A version with the fields that are not shared. */
export interface OwnVersion extends VersionFields {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly deprecated: boolean;
  readonly deprecationWarning: string | undefined;
}

/**
 * A definition in the original's internal form: fields that all versions have alike are moved to the top, and their
 * errors are reported there.
 */
export interface HoistedVersions {
  readonly shared: VersionFields;
  readonly versions: readonly OwnVersion[];
}

const fields = ['schema', 'subresources', 'additionalPrinterColumns', 'selectableFields'] as const;

export const hoistShared = ({versions = []}: Partial<Spec>): HoistedVersions => {
  const [first] = versions;
  const alike = fields.filter(field => first && versions.every(version => sameJson(version[field], first[field])));
  const pick = (version: Version, wanted: (field: (typeof fields)[number]) => boolean): VersionFields =>
    Object.fromEntries(fields.filter(field => wanted(field) && version[field] !== undefined).map(field => [field, version[field]]));
  return {
    shared: first ? pick(first, field => alike.includes(field)) : {},
    versions: versions.map(version => ({
      name: version.name ?? '',
      served: version.served ?? false,
      storage: version.storage ?? false,
      deprecated: version.deprecated ?? false,
      deprecationWarning: version.deprecationWarning,
      ...pick(version, field => !alike.includes(field)),
    })),
  };
};

/** Returns the storage version; undefined in an invalid definition. */
export const storageVersion = ({versions = []}: Partial<Spec>): string | undefined => versions.find(({storage}) => storage)?.name;

/** Returns all schemas of a definition. */
export const schemasOf = ({versions = []}: Partial<Spec>): JsonSchema[] =>
  versions.flatMap(version => {
    const schema = schemaOf(version);
    return schema ? [schema] : [];
  });
