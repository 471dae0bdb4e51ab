import {duplicate, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {labelKeyProblems, labelValueProblems} from '#src/api/names.js';
import type {Naming} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import {jsonSyntaxProblem} from '#src/schema/decode/json-syntax.js';

type Taint = NonNullable<NonNullable<Node['spec']>['taints']>[number];

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

function* validateTaint({key, value, effect}: Readonly<Partial<Taint>>, path: string): Iterable<FieldError> {
  for (const problem of labelKeyProblems(key ?? '')) yield invalid(`${path}.key`, key ?? '', problem);
  const problems = labelValueProblems(value ?? '');
  if (problems.length > 0) yield invalid(`${path}.value`, value, problems.join(';'));
  if (!effect) yield required(`${path}.effect`);
  else if (!effects.includes(effect)) yield notSupported(`${path}.effect`, effect, effects);
}

/** Validates taints; no two may have the same key and effect. */
export function* validateTaints(taints: readonly Taint[], path: string): Iterable<FieldError> {
  const seen = new Set<string>();
  for (const [i, taint] of taints.entries()) {
    const at = `${path}[${i}]`;
    yield* validateTaint(taint, at);
    const pair = `${taint.effect}\0${taint.key}`;
    if (seen.has(pair)) {
      const twice = duplicate(at, {
        Key: taint.key ?? '',
        Value: taint.value ?? '',
        Effect: taint.effect ?? '',
        TimeAdded: taint.timeAdded ?? null,
      });
      yield {...twice, detail: `${twice.detail}: taints must be unique by key and effect pair`};
    }
    seen.add(pair);
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

const kindOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;

/** Parses an annotation in JSON; returns the value or the problem. */
const read = (text: string): {readonly value: unknown} | {readonly problem: string} => {
  try {
    return {value: JSON.parse(text) as unknown};
  } catch {
    return {problem: jsonSyntaxProblem(text)};
  }
};

function* validateTaintsAnnotation(text: string, key: string): Iterable<FieldError> {
  const path = 'metadata.annotations';
  const found = read(text);
  if ('problem' in found) return yield invalid(path, key, found.problem);
  if (!Array.isArray(found.value)) {
    if (found.value !== null) yield invalid(path, key, `json: cannot unmarshal ${kindOf(found.value)} into Go value of type []core.Taint`);
    return;
  }
  yield* validateTaints(
    found.value.map(taint =>
      isObject(taint) ? Object.fromEntries(Object.entries(taint).map(([name, value]) => [name.toLowerCase(), String(value)])) : {},
    ) as unknown as Taint[],
    `${path}.${key}`,
  );
}

function* validateAvoidance(text: string, key: string): Iterable<FieldError> {
  const path = 'metadata.annotations';
  const found = read(text);
  if ('problem' in found) return yield invalid(`${path}.AvoidPods`, key, found.problem);
  const entries = isObject(found.value) ? found.value['preferAvoidPods'] : undefined;
  for (const [i, entry] of (Array.isArray(entries) ? entries : []).entries()) {
    const at = `${path}.${key}[${i}].PodSignature`;
    const signature: unknown = isObject(entry) ? entry['podSignature'] : undefined;
    const controller = isObject(signature) ? signature['podController'] : undefined;
    if (!isObject(controller)) yield required(at);
    else if (controller['controller'] !== true) yield invalid(`${at}.PodController.Controller`, false, 'must point to a controller');
  }
}

/** Validates annotations that predate the node's fields. */
export function* validateNodeAnnotations({metadata}: Readonly<Node>, naming: Naming): Iterable<FieldError> {
  for (const [name, rule] of [
    ['taints', validateTaintsAnnotation],
    ['preferAvoidPods', validateAvoidance],
  ] as const) {
    const key = naming.subKey('scheduler.alpha', name);
    const text = metadata?.annotations?.[key];
    if (text) yield* rule(text, key);
  }
}
