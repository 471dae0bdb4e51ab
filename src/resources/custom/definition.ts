import {sameJson} from '#src/api/equal.js';
import {collectErrors} from '#src/api/collect-errors.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {compareVersions} from '#src/api/versions.js';
import {nameColumn} from '#src/resources/columns.js';
import type {Column, Endpoint, ResourceDefinition} from '#src/resources/definition.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {validateScaleSpec, validateScaleStatus} from '#src/schema/custom/paths/scale.js';
import type {JsonSchema} from '#src/schema/json-schema.js';
import type {CustomSchema} from '#src/schema/custom/schema.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import {isTrue} from '#src/resources/apiextensions/conditions.js';
import type {Definition, Version} from '#src/resources/apiextensions/types.js';
import {customColumns} from './columns.js';
import {finalizerWarnings} from './finalizers.js';
import {customScale} from './scale.js';
import {rulesOf} from './rules/rules.js';
import {selectable} from './selectable.js';

/** The input for the definition of one version of a custom resource. */
export interface VersionParts {
  readonly definition: Definition;
  readonly version: Version;
  readonly kind: Kind;
  readonly storedKind: Kind;
  /** Called with the first object. */
  schema(): CustomSchema;
  gate(name: string): boolean;
}

const verbs = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];
const verbsOfTerminating = ['delete', 'deletecollection', 'get', 'list', 'watch'];

/** Returns the warning of a deprecated version: its own text or the default one. */
const deprecationText = ({spec}: Definition, {name, deprecationWarning}: Version): string => {
  if (deprecationWarning !== undefined) return deprecationWarning;
  const {group, names} = spec;
  const [better] = spec.versions
    .filter(version => version.served && !version.deprecated && compareVersions(version.name, name) < 0)
    .map(version => version.name)
    .sort(compareVersions);
  return `${group}/${name} ${names.kind} is deprecated${better ? `; use ${group}/${better} ${names.kind}` : ''}`;
};

/** Without a status subresource, every change outside of metadata counts. */
const changesContent = (object: Readonly<KubeObject>, old: Readonly<KubeObject>): boolean =>
  !sameJson({...object, metadata: undefined}, {...old, metadata: undefined});

/** Returns the resource definition of a version, which is served like a built-in kind. */
export const versionDefinition = (parts: VersionParts): ResourceDefinition => {
  const {definition, version, kind, storedKind} = parts;
  const {spec} = definition;
  const paths = version.subresources?.scale;
  const rules = rulesOf(() => parts.schema());
  const hasStatus = version.subresources?.status !== undefined;
  const main: Endpoint<KubeObject> = {
    writes: {update: {allBut: hasStatus ? ['status'] : []}},
    warn: finalizerWarnings,
    *validate(object, old, {warn}) {
      const errors = collectErrors(
        parts.schema().validate(object as PlainObject, old as PlainObject | undefined),
        paths ? validateScaleSpec(object as PlainObject, paths) : [],
        paths ? validateScaleStatus(object as PlainObject, paths) : [],
      );
      yield* errors;
      yield* rules.validate(object, old, errors, warn);
    },
  };
  const status: Endpoint<KubeObject> = {
    writes: {update: ['status']},
    *validate(object, old = {}, {warn}) {
      const errors = collectErrors(
        parts.schema().validateStatus(object as PlainObject, old as PlainObject),
        paths ? validateScaleStatus(object as PlainObject, paths) : [],
      );
      yield* errors;
      yield* rules.validate(object, old, errors, warn);
    },
  };
  const scale = paths && customScale(main, paths);
  const names = {...spec.names, ...definition.status?.acceptedNames};
  const terminating = isTrue(definition, 'Terminating');
  return {
    kind,
    discovery: {shortNames: names.shortNames ?? [], categories: names.categories ?? []},
    storage: {
      path: `${spec.group}/${names.plural}`,
      kind: storedKind,
      isVersionUnserved: !spec.versions.some(({name, served}) => served && name === storedKind.version),
    },
    metadata: {nameProblems: subdomainName, anyFinalizers: true, generation: hasStatus ? true : changesContent},
    update: {unconditional: false},
    ready: rules.ready,
    default(object) {
      parts.schema().prune(object as PlainObject);
      parts.schema().applyDefaults(object as PlainObject);
    },
    main,
    subresources: {
      ...(hasStatus ? {status} : {}),
      ...(scale ? {scale} : {}),
    },
    custom: {
      verbs: terminating ? verbsOfTerminating : verbs,
      ...(version.deprecated ? {deprecationWarning: deprecationText(definition, version)} : {}),
      ...(terminating ? {refusesCreation: 'create not allowed while custom resource definition is terminating'} : {}),
      described: () => ({
        source: version.schema?.openAPIV3Schema as JsonSchema | undefined,
        preserveUnknownFields: spec.preserveUnknownFields === true,
        selectableFields: version.selectableFields?.map(({jsonPath}) => jsonPath) ?? [],
      }),
    },
    selection: {fields: selectable(version.selectableFields)},
    presentation: {columns: [nameColumn as Column<KubeObject>, ...customColumns(version.additionalPrinterColumns)]},
  };
};
