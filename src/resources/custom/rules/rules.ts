import type {FieldError} from '#src/api/field-error.js';
import type {Findings} from '#src/api/collect-errors.js';
import type {KubeObject} from '#src/api/types.js';
import {Correlated} from '#src/schema/custom/correlated.js';
import {factsOf} from '#src/schema/custom/facts.js';
import {blocksRules, type CustomSchema} from '#src/schema/custom/schema.js';
import type {PlainObject} from '#src/schema/decode/plain.js';

/** The validation rules of a custom resource. */
export interface Rules {
  /** Loads the evaluator if there are rules; returns undefined if nothing has to be loaded. */
  ready(): Promise<void> | undefined;
  /**
   * Evaluates the rules for an object or an update, given its errors so far, with pauses. Call it only after `ready`
   * has resolved.
   */
  validate(
    object: Readonly<KubeObject>,
    old: Readonly<KubeObject> | undefined,
    errors: readonly FieldError[],
    warn: (text: string) => void,
  ): Findings;
}

type Evaluator = typeof import('./evaluate.js');

/** Loaded with the first rule: CEL is large. */
let loaded: Evaluator | undefined;

const rulesNotChecked: FieldError = {
  path: '<nil>',
  reason: 'FieldValueInvalid',
  detail:
    'Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
};

/** Returns the rules of a schema, compiled with the first object. */
export const rulesOf = (schema: () => CustomSchema): Rules => {
  let tree: InstanceType<Evaluator['RuleTree']> | undefined;
  return {
    ready() {
      if (loaded || !factsOf(schema().source).hasRules) return undefined;
      return import('./evaluate.js').then(module => {
        loaded = module;
      });
    },
    *validate(object, old, errors, warn) {
      const {source, node} = schema();
      if (!loaded || !factsOf(source).hasRules) return;
      // A missing name is reported separately.
      if (blocksRules(errors) || !object.metadata?.name) return yield rulesNotChecked;
      tree ??= new loaded.RuleTree(source, node, true);
      const correlated = old && new Correlated(object as PlainObject, old as PlainObject, source);
      yield* yield* loaded.evaluateRules(tree, {object, old, correlated, warn});
    },
  };
};
