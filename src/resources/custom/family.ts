import {sameJson} from '#src/api/equal.js';
import {kindOnWire, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {isTrue} from '#src/resources/apiextensions/conditions.js';
import {validateMetadata} from '#src/resources/apiextensions/metadata.js';
import type {Definition, Version} from '#src/resources/apiextensions/types.js';
import type {ResourceDefinition} from '#src/resources/definition.js';
import type {JsonSchema} from '#src/schema/json-schema.js';
import {customSchema, type CustomSchema} from '#src/schema/custom/schema.js';
import type {SchemaSource} from '#src/schema/builtin/schemas.js';
import {versionDefinition} from './definition.js';

// A custom resource with all its versions, built from its definition. Schemas, columns and rules are computed on first
// use. A changed definition gets a new family.

/** One version of a custom resource. */
export interface CustomVersion {
  readonly kind: Kind;
  readonly apiVersion: string;
  readonly served: boolean;
  readonly schema: CustomSchema;
  /** The resource definition, like that of a built-in kind with this version only. */
  readonly definition: ResourceDefinition;
}

/** A custom resource with all its versions, including those that are not served. */
export interface CustomFamily {
  readonly definition: Definition;
  readonly versions: readonly CustomVersion[];
  /** The version in which new records are stored. */
  readonly stored: CustomVersion;
  /** Identifies the definition's state in stored records: 1 to 32,767. A deleted definition leaves no records. */
  readonly mark: number;
}

const marks = 32_767;

/** Reports whether the objects of a definition are served. */
export const isServed = (definition: Definition): boolean => isTrue(definition, 'Established');

/** Reports whether two states of a definition serve the same resource. */
export const sameService = (a: Definition, b: Definition): boolean =>
  a.metadata?.uid === b.metadata?.uid &&
  a.metadata?.generation === b.metadata?.generation &&
  isServed(a) === isServed(b) &&
  isTrue(a, 'Terminating') === isTrue(b, 'Terminating') &&
  sameJson(a.status?.acceptedNames, b.status?.acceptedNames);

/**
 * Reports whether a definition has changed in nothing but that it is being deleted: its objects are as they were, and
 * go while they are watched.
 */
export const isEnding = (before: Definition, now: Definition): boolean =>
  now.metadata?.deletionTimestamp !== undefined &&
  isServed(now) &&
  before.metadata?.uid === now.metadata?.uid &&
  sameJson(before.spec, now.spec) &&
  sameJson(before.status?.acceptedNames, now.status?.acceptedNames);

/** Returns the kind of one version. */
const kindOf = ({spec, status}: Definition, {name}: Version, naming: Naming): Kind => {
  const {plural, singular, kind, listKind} = {...spec.names, ...status?.acceptedNames};
  const handle = kindOnWire(naming, {group: spec.group, version: name, kind, plural, namespaced: spec.scope === 'Namespaced'});
  return {...handle, singular: singular || handle.singular, listKind: listKind || handle.listKind};
};

/** The schema of a version without one. */
const anything: JsonSchema = {type: 'object', 'x-kubernetes-preserve-unknown-fields': true};

/** Returns the versions and settings of a definition. */
export const customFamily = (
  definition: Definition,
  {naming, gate, schemas}: {readonly naming: Naming; gate(name: string): boolean; readonly schemas: SchemaSource},
): CustomFamily => {
  const {spec} = definition;
  const of = (version: Version): Kind => kindOf(definition, version, naming);
  const storedKind = of(spec.versions.find(({storage}) => storage) ?? spec.versions[0]!);
  const versions = spec.versions.map((version): CustomVersion => {
    const kind = of(version);
    let schema: CustomSchema | undefined;
    const loadSchema = () =>
      (schema ??= customSchema((version.schema?.openAPIV3Schema ?? anything) as JsonSchema, {
        metadata: schemas.of('meta', 'v1', 'ObjectMeta')!,
        validateMetadata,
        preserveUnknownFields: spec.preserveUnknownFields === true,
      }));
    return {
      kind,
      apiVersion: naming.apiVersion(kind.group, kind.version),
      served: version.served,
      get schema() {
        return loadSchema();
      },
      definition: versionDefinition({definition, version, kind, storedKind, schema: loadSchema, gate}),
    };
  });
  return {
    definition,
    versions,
    stored: versions.find(({kind}) => kind.version === storedKind.version)!,
    mark: ((definition.metadata?.generation ?? 1) % marks) + 1,
  };
};
