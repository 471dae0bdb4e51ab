// Control loops that maintain conditions of custom resource definitions which depend only on their content:
// `NonStructuralSchema` and `KubernetesAPIApprovalPolicyConformant`. They do not establish definitions.

import {keyOf} from '#src/api/key.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {runStepsYielding, stepsOf, type Steps, type MaybeSteps} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
import {approvalOf, isProtected} from '#src/resources/apiextensions/approval.js';
import {conditionOf, isTrue, hasCondition, setCondition} from '#src/resources/apiextensions/conditions.js';
import type {Condition, Definition} from '#src/resources/apiextensions/types.js';
import {schemaOf} from '#src/resources/apiextensions/versions.js';
import {structuralInSteps, nonStructuralReasonInSteps} from '#src/schema/custom/structural/structural.js';
import {defineController, mapped, settled, type KeyedController} from '#src/runtime/controller.js';
import {withOwnStatus, writeStatus, type Cached} from './status.js';

type CheckedCondition = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/** A condition of definitions that depends only on their content. */
interface ConditionCheck {
  readonly doc: string;
  readonly name: string;
  readonly type: string;
  /** Undefined if the condition should be absent. */
  check(definition: Cached, naming: Naming): MaybeSteps<CheckedCondition | undefined>;
  /**
   * Changes when the condition may have to change. Otherwise servers of two releases would keep overwriting each
   * other's texts.
   */
  trigger(definition: Cached, naming: Naming): string;
  /**
   * How long the check of a definition that exists at the start may be delayed. Undefined if there is nothing to check.
   */
  waitMs(definition: Cached, naming: Naming): number | undefined;
}

const conditionLoop = ({doc, name: loop, type, check, trigger, waitMs}: ConditionCheck): KeyedController =>
  defineController({
    doc,
    name: loop,
    watches: [
      mapped(kinds.customResourceDefinitions, ({type: change, object}, {naming}) => {
        const afterMs = waitMs(object, naming);
        if (afterMs === undefined && change !== 'deleted' && !conditionOf(object, type)) return [];
        return [{key: keyOf(object), afterMs: change === 'added' ? (afterMs ?? 0) : 0}];
      }),
    ],
    workers: 5,
    create({lister, writer, clock, naming}) {
      const definitions = lister(kinds.customResourceDefinitions);
      const {updateStatus} = writer(kinds.customResourceDefinitions as Kind<Definition>);
      const pieces = new Yielder(clock);
      const seen = new Map<string, string>();
      const checked = new Map<string, {readonly on: string; readonly result: CheckedCondition | undefined}>();
      return async ({name}) => {
        const cached: Cached | undefined = definitions.get(name);
        if (!cached) {
          seen.delete(name);
          checked.delete(name);
          return settled;
        }
        const now = `${cached.metadata?.uid} ${trigger(cached, naming)}`;
        if (seen.get(name) === now) return settled;
        const known = checked.get(name);
        const result = known?.on === now ? known.result : await runStepsYielding(stepsOf(check(cached, naming)), pieces);
        checked.set(name, {on: now, result});
        if (result ? hasCondition(cached, result) : !conditionOf(cached, type)) return settled;
        const definition = withOwnStatus(cached);
        if (result) setCondition(definition, result, clock.now());
        else definition.status!.conditions = definition.status!.conditions!.filter(condition => condition.type !== type);
        if (await writeStatus({updateStatus}, definition)) seen.set(name, now);
        return settled;
      };
    },
  });

const nonStructural = 'NonStructuralSchema';

/** A delay of up to 20 s, derived from a name. */
const spread = (name: string): number => ([...name].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 7) % 1000) * 20;

const structure = function* ({spec}: Cached): Steps<CheckedCondition | undefined> {
  const texts = spec.preserveUnknownFields ? ['spec.preserveUnknownFields: Invalid value: true: must be false'] : [];
  for (const [i, version] of (spec.versions ?? []).entries()) {
    const schema = schemaOf(version as Definition['spec']['versions'][number]);
    if (!schema) continue;
    const why = yield* nonStructuralReasonInSteps(schema);
    if (why)
      return {
        type: nonStructural,
        status: 'Unknown',
        reason: 'StructuralError',
        message: `failed to check validation schema for version ${version.name}: ${why}`,
      };
    texts.push(
      ...(yield* structuralInSteps(schema, `spec.versions[${i}].schema.openAPIV3Schema`)).map(({path, detail}) => `${path}: ${detail}`),
    );
  }
  const distinct = [...new Set(texts)];
  return distinct.length === 0
    ? undefined
    : {
        type: nonStructural,
        status: 'True',
        reason: 'Violations',
        message: distinct.length === 1 ? distinct[0]! : `[${distinct.join(', ')}]`,
      };
};

/** Reports schemas that are not structural, which only old definitions can have. */
export const structureLoop = conditionLoop({
  doc: 'Reports definitions whose schemas are not structural.',
  name: 'non_structural_schema_condition_controller',
  type: nonStructural,
  check: structure,
  trigger: ({metadata}) => String(metadata?.generation ?? 0),
  // Established definitions were validated before: a thousand of them must not delay the start, nor be checked all at
  // once.
  waitMs: cached => (isTrue(cached, 'Established') ? 10_000 + spread(cached.metadata?.name ?? '') : 0),
});

const conformant = 'KubernetesAPIApprovalPolicyConformant';
const approvalReasons = {
  invalid: ['False', 'InvalidAnnotation'],
  missing: ['False', 'MissingAnnotation'],
  approved: ['True', 'ApprovedAnnotation'],
  bypassed: ['False', 'UnapprovedAnnotation'],
} as const;

/** Reports whether definitions in protected groups have an approval. */
export const approvalLoop = conditionLoop({
  doc: 'Reports whether definitions in protected groups are approved.',
  name: 'kubernetes_api_approval_conformant_condition_controller',
  type: conformant,
  check(cached, naming) {
    const group = cached.spec.group;
    if (!isProtected(group, naming)) return undefined;
    const {state, reason: message} = approvalOf(cached as Definition, naming);
    const [status, reason] = approvalReasons[state];
    return {type: conformant, status, reason, message};
  },
  waitMs: ({spec}, naming) => (isProtected(spec.group, naming) ? 0 : undefined),
  trigger: ({metadata}, naming) => metadata?.annotations?.[naming.annotations.approved] ?? '',
});
