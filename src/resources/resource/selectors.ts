import type {Findings} from '#src/api/collect-errors.js';
import {forbiddenField, internalFieldError, invalid, required, tooLong} from '#src/api/field-error.js';

// Validates CEL selectors of devices. CEL is loaded on demand: hooks first call `readyForSelectors`, then validate
// synchronously.

export interface Selector {
  cel?: {expression: string};
}

export const maxSelectors = 32;
const longestExpression = 10 * 1024;
const maxCost = 1_000_000;

type Compiler = typeof import('#src/cel/kubernetes/devices.js');

/** Loaded with the first expression: CEL is large. */
let compiler: Compiler | undefined;

/** Loads the compiler if there are selectors; returns undefined if nothing has to be loaded. */
export const readyForSelectors = (selectors: readonly Readonly<Selector>[]): Promise<void> | undefined => {
  if (compiler || !selectors.some(({cel}) => cel)) return undefined;
  return import('#src/cel/kubernetes/devices.js').then(module => {
    compiler = module;
  });
};

/** The rules for a selector. */
export interface SelectorRules {
  /** The selectors are already stored, so they may use the wider environment of stored expressions. */
  readonly stored?: boolean;
  /** Whether devices declare if several claims may share them. */
  readonly sharesCapacity: boolean;
}

/** Validates a selector. Call it only after `readyForSelectors` has resolved. */
export function* validateSelector({cel}: Readonly<Selector>, path: string, {stored = false, sharesCapacity}: SelectorRules): Findings {
  if (!cel) return yield required(`${path}.cel`);
  const at = `${path}.cel.expression`;
  const expression = cel.expression ?? '';
  if (!stored && Buffer.byteLength(expression) > longestExpression) return yield tooLong(at, longestExpression);
  if (!compiler) throw new Error('call readyForSelectors first');
  const compiled = yield* compiler.compileDeviceSelector(expression, stored ? 'stored' : 'new', sharesCapacity);
  yield;
  if ('cost' in compiled) {
    if (compiled.cost > maxCost) yield forbiddenField(at, 'too complex, exceeds cost limit');
  } else yield compiled.isInternal ? internalFieldError(at, compiled.problem) : invalid(at, expression, compiled.problem);
}
