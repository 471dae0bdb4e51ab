import type {Library} from '#src/cel/check/declarations.js';
import {bindVariable, MacroError} from '#src/cel/syntax/macros.js';

/** `cel.bind(x, value, f(x))`. */
export const bindings: Library = {
  name: 'bindings',
  macros: [
    {
      name: 'bind',
      isMember: true,
      arity: 3,
      expand: (make, [declared, value, within], target) => {
        if (target?.kind !== 'ident' || target.name !== 'cel') return undefined;
        if (declared!.kind !== 'ident') throw new MacroError(declared!, 'cel.bind() variable names must be simple identifiers');
        return bindVariable(make, declared!.name, value!, within!);
      },
    },
  ],
};
