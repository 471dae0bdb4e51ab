// Checks an object without the server, where that cannot: in a namespace that is not there yet, or of a kind whose
// definition is in the same files.

import type {FieldError} from '#src/api/field-error.js';
import {collectErrors} from '#src/api/collect-errors.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import {systemRandom} from '#src/base/random.js';
import {resources} from '#src/resources/builtin/index.js';
import type {CustomVersion} from '#src/resources/custom/family.js';
import type {HookContext, ResourceDefinition} from '#src/resources/definition.js';
import type {Schemas} from '#src/schema/builtin/schemas.js';
import {DecodeError} from '#src/schema/decode/error.js';
import {decodeValue} from '#src/schema/decode/decode.js';
import type {Manifest} from '#src/check/files/manifest.js';
import type {Finding} from '#src/check/findings/finding.js';
import {warningFinding} from './refusals.js';

export interface LocalParts {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly schemas: Schemas;
}

/** What the local rules say of an object, and the object with its defaults if it can be read. */
export interface LocalResult {
  readonly findings: readonly Finding[];
  readonly object?: KubeObject;
}

/** Returns the context of hooks that judge an object as a server with all features does. */
export const hookContext = ({naming, clock}: LocalParts, served: Kind, warn: (text: string) => void = () => {}): HookContext => ({
  naming,
  clock,
  random: systemRandom,
  user: {name: '', groups: []},
  gate: () => true,
  served,
  warn,
  allowPrivileged: true,
});

/**
 * Checks an object of a built-in kind by its schema and rules; undefined if only the server knows the kind, or has
 * other fields in this version.
 */
export const checkBuiltin = async (manifest: Manifest, kind: Kind, parts: LocalParts): Promise<LocalResult | undefined> => {
  const definition = resources.find(
    ({kind: hub}) => hub.group === kind.group && hub.plural === kind.plural && hub.version === kind.version,
  );
  const node = parts.schemas.of(kind.group, kind.version, kind.kind);
  if (!definition || !node) return undefined;
  return judged(manifest, definition, node, {kind, parts});
};

/** Checks an object of a custom kind by its definition. */
export const checkCustom = (manifest: Manifest, {definition, schema, kind}: CustomVersion, parts: LocalParts): Promise<LocalResult> =>
  judged(manifest, definition, schema.node, {kind, parts});

const judged = async (
  manifest: Manifest,
  definition: ResourceDefinition,
  node: Parameters<typeof decodeValue>[1],
  {kind, parts}: {readonly kind: Kind; readonly parts: LocalParts},
): Promise<LocalResult> => {
  const findings: Finding[] = [];
  const context = hookContext(parts, kind, text => findings.push(warningFinding(manifest, text)));
  try {
    const {object, problems} = decodeValue<KubeObject>(manifest.object, node, 'Warn');
    for (const {text} of problems) findings.push(warningFinding(manifest, text));
    definition.default?.(object, context);
    definition.main.prepare?.(object, undefined, context);
    await definition.ready?.(object);
    const errors = collectErrors(definition.main.validate?.(object, undefined, context) ?? []);
    findings.push(...fieldFindings(manifest, errors));
    for (const text of definition.main.warn?.(object, undefined, context) ?? []) findings.push(warningFinding(manifest, text));
    return {findings, object};
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return {findings: [...findings, manifest.finding('invalid', error.message)]};
  }
};

/** The findings of errors of fields. */
export const fieldFindings = (manifest: Manifest, errors: readonly FieldError[]): Finding[] =>
  errors.map(({path, detail}) => manifest.finding('invalid', `${path}: ${detail}`, path === '<nil>' ? {} : {field: path}));
