import {isWrong} from '#src/api/collect-errors.js';
import {sameContent, sameJson} from '#src/api/equal.js';
import {hasUnknownInDefaults} from '#src/schema/custom/structural/default-rules.js';
import {itemsOf, someSchema, type JsonSchema} from '#src/schema/json-schema.js';
import {hasGranularSet, validateIdentity} from '#src/schema/custom/structural/list-rules.js';
import {knownTypes} from '#src/schema/custom/structural/schema-rules.js';
import {structuralProblems, nonStructuralReason} from '#src/schema/custom/structural/structural.js';
import {caBundleProblem} from './ca-bundle.js';
import {isTrue} from './conditions.js';
import {acceptsOnlyUnknownReviews, type ConversionRatcheting} from './conversion.js';
import {maxSelectableFields} from './presentation.js';
import type {Definition} from './types.js';
import {schemaOf, schemasOf} from './versions.js';

// Ratcheting of custom resource definitions: an update may keep what the stored definition violates, since stored
// objects and clients rely on it. A new definition may not. Never accepts a new violation.

/**
 * What an updated definition may keep although a new one may not have it (ratcheting): later rules never break stored
 * objects.
 */
export interface Ratcheting extends ConversionRatcheting {
  readonly noSchema: boolean;
  readonly unstructured: boolean;
  readonly unknownTypes: boolean;
  readonly unknownInDefaults: boolean;
  readonly granularSets: boolean;
  readonly incompleteKeys: boolean;
  readonly tooManySelectable: ReadonlySet<string>;
}

/** The rules of a new definition; only an invalid CA bundle is accepted, since it can still be corrected. */
export const noRatcheting: Ratcheting = {
  unknownReviews: false,
  badBundle: true,
  noSchema: false,
  unstructured: false,
  unknownTypes: false,
  unknownInDefaults: false,
  granularSets: false,
  incompleteKeys: false,
  tooManySelectable: new Set(),
};

const isUnstructured = (schema: JsonSchema): boolean =>
  nonStructuralReason(schema) !== undefined || structuralProblems(schema, '').length > 0;

/** Returns the versions whose schema is unchanged. */
export const unchangedSchemas = ({spec}: Readonly<Definition>, old: Readonly<Definition>): ReadonlySet<string> => {
  const before = new Map(old.spec.versions.map(version => [version.name, version]));
  return new Set(
    spec.versions
      .filter(version => before.has(version.name) && sameJson(schemaOf(version), schemaOf(before.get(version.name)!)))
      .map(({name}) => name),
  );
};

/** Returns what an update may keep from the stored definition. */
export const ratchetingFrom = ({spec}: Readonly<Definition>, old: Readonly<Definition>): Ratcheting => {
  const schemas = schemasOf(old.spec);
  const some = (isSo: (schema: JsonSchema) => boolean): boolean => schemas.some(schema => someSchema(schema, isSo));
  const before = new Map(old.spec.versions.map(version => [version.name, version]));
  const kept = (spec.versions ?? []).filter(({name}) => before.has(name));
  return {
    unknownReviews: acceptsOnlyUnknownReviews(old.spec.conversion),
    badBundle: !isTrue(old, 'Established') || caBundleProblem(old.spec.conversion?.webhook?.clientConfig?.caBundle) !== undefined,
    noSchema: old.spec.versions.some(version => schemaOf(version) === undefined),
    unstructured: schemas.some(isUnstructured),
    unknownTypes: some(({type}) => Boolean(type) && !knownTypes.includes(type!)),
    unknownInDefaults: schemas.some(schema => !isUnstructured(schema) && hasUnknownInDefaults(schema)),
    granularSets: some(hasGranularSet),
    incompleteKeys: some(schema => itemsOf(schema) !== undefined && isWrong(validateIdentity(schema, ''))),
    tooManySelectable: new Set(
      kept.flatMap(({name, selectableFields}) => {
        const fields = before.get(name)!.selectableFields ?? [];
        return fields.length > maxSelectableFields && sameContent(selectableFields, fields) ? [name] : [];
      }),
    ),
  };
};
