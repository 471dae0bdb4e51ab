import {forbiddenField, internalFieldError, invalid, required, tooLong, type FieldError} from '#src/api/field-error.js';

export interface Selector {
  cel?: {expression: string};
}

export const maxSelectors = 32;
const longestExpression = 10 * 1024;
const maxCost = 1_000_000;

type Compiler = typeof import('#src/cel/kubernetes/devices.js');

/** The language is large; it is loaded with the first expression. */
let compiler: Compiler | undefined;

/** Loads what compiles expressions, where there are any; nothing where all is there. */
export const readyForSelectors = (selectors: readonly Readonly<Selector>[]): Promise<void> | undefined => {
  if (compiler || !selectors.some(({cel}) => cel)) return undefined;
  return import('#src/cel/kubernetes/devices.js').then(module => {
    compiler = module;
  });
};

/** How selectors are judged. */
export interface SelectorRules {
  /** They were stored before, when more may have been allowed. */
  readonly stored?: boolean;
  /** Whether devices tell if more than one claim may have them. */
  readonly sharesCapacity: boolean;
}

/** What is wrong with a selector. To be called once `readyForSelectors` is through. */
export function* validateSelector({cel}: Readonly<Selector>, path: string, {stored = false, sharesCapacity}: SelectorRules): Iterable<FieldError> {
  if (!cel) return yield required(`${path}.cel`);
  const at = `${path}.cel.expression`;
  const expression = cel.expression ?? '';
  if (!stored && Buffer.byteLength(expression) > longestExpression) return yield tooLong(at, longestExpression);
  if (!compiler) throw new Error('a selector came before what compiles it');
  const compiled = compiler.compileDeviceSelector(expression, stored ? 'stored' : 'new', sharesCapacity);
  if ('cost' in compiled) {
    if (compiled.cost > maxCost) yield forbiddenField(at, 'too complex, exceeds cost limit');
  } else yield compiled.isInternal ? internalFieldError(at, compiled.problem) : invalid(at, expression, compiled.problem);
}
