import type {FieldError} from '#src/api/field-error.js';
import type {KubeObject} from '#src/api/types.js';
import {Correlated} from '#src/schema/custom/correlated.js';
import {blocksRules, type CustomSchema} from '#src/schema/custom/schema.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import {hasRules} from './has-rules.js';

/** The rules of a custom resource in the expression language. */
export interface Rules {
  /** Loads what judges by rules, where there are any; nothing once it is loaded. */
  ready(): Promise<void> | undefined;
  /** What the rules say against an object or a change, given what is wrong with it already. To be called once `ready` is through. */
  validate(object: Readonly<KubeObject>, old: Readonly<KubeObject> | undefined, errors: readonly FieldError[], warn: (text: string) => void): readonly FieldError[];
}

type Evaluator = typeof import('./evaluate.js');

/** Loaded with the first rule anybody states: the expression language is large. */
let loaded: Evaluator | undefined;

const rulesNotChecked: FieldError = {
  path: '<nil>',
  reason: 'FieldValueInvalid',
  detail: 'Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
};

/** The rules that a schema states, compiled when the first object is judged by them. */
export const rulesOf = (schema: () => CustomSchema): Rules => {
  let tree: InstanceType<Evaluator['RuleTree']> | undefined;
  return {
    ready() {
      if (loaded || !hasRules(schema().source)) return undefined;
      return import('./evaluate.js').then(module => {
        loaded = module;
      });
    },
    validate(object, old, errors, warn) {
      const {source, node} = schema();
      if (!loaded || !hasRules(source)) return [];
      // An object without a name has a mistake that is told of apart.
      if (blocksRules(errors) || !object.metadata?.name) return [rulesNotChecked];
      tree ??= new loaded.RuleTree(source, node, true);
      const correlated = old && new Correlated(object as PlainObject, old as PlainObject, source);
      return loaded.evaluateRules(tree, {object, old, correlated, warn});
    },
  };
};
