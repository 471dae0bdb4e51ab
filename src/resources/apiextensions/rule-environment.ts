import {compile, isCompileError, type Program} from '#src/cel/compile.js';
import {extend, type Environment} from '#src/cel/environment.js';
import type {Expr} from '#src/cel/ast.js';
import {isParseError, parse} from '#src/cel/parse.js';
import {optionalOf} from '#src/cel/types.js';
import {ruleBase, typeOfPart} from '#src/resources/custom/rules/compiled.js';
import type {ValidationRule} from '#src/schema/custom/json-schema.js';
import type {SchemaNode} from '#src/schema/node.js';

/** What rules about the values of one schema can name. */
export interface RuleEnvironments {
  /** `optional`: of a rule that runs where there was nothing before, too. */
  of(optional: boolean): Environment;
}

/** Nothing where expressions cannot see the values of a schema. */
export const ruleEnvironments = (node: SchemaNode, isRoot: boolean): RuleEnvironments | undefined => {
  const part = typeOfPart(node, isRoot);
  if (!part) return undefined;
  const {type, types} = part;
  const made = new Map<boolean, Environment>();
  return {
    of(optional) {
      const known = made.get(optional);
      if (known) return known;
      const environment = extend(ruleBase, {types, variables: {self: type, oldSelf: optional ? optionalOf(type) : type}});
      made.set(optional, environment);
      return environment;
    },
  };
};

const inside = (expr: Expr): readonly Expr[] => {
  switch (expr.kind) {
    case 'select':
      return [expr.operand];
    case 'call':
      return expr.target ? [expr.target, ...expr.args] : expr.args;
    case 'list':
      return expr.elements;
    case 'map':
      return expr.entries.flatMap(({key, value}) => [key, value]);
    case 'struct':
      return expr.fields.map(({value}) => value);
    case 'comprehension':
      return [expr.range, expr.init, expr.condition, expr.step, expr.result];
    default:
      return [];
  }
};

/** Functions of the original's libraries. A rule that calls one which is not there yet is not judged, rather than refused. */
const libraryFunctions: ReadonlySet<string> = new Set(
  ('isSorted sum min max indexOf lastIndexOf find findAll url isURL getScheme getHost getHostname getPort getEscapedPath getQuery quantity isQuantity isInteger asInteger asApproximateFloat sign add sub '
    + 'isGreaterThan isLessThan compareTo ip isIP isCanonical cidr isCIDR family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast containsIP containsCIDR masked prefixLength '
    + 'named validate semver isSemver major minor patch charAt lowerAscii upperAscii replace split substring trim join format reverse quote greatest least ceil floor round trunc abs isNaN isInf isFinite '
    + 'bitOr bitAnd bitXor bitNot bitShiftLeft bitShiftRight sqrt contains equivalent intersects bind all exists existsOne exists_one transformList transformMap transformMapEntry of none ofNonZeroValue '
    + 'hasValue value or orValue optMap optFlatMap first last unwrapOpt flatten slice sort sortBy distinct range').split(' '),
);

/** Whether an expression uses what no library here has yet. */
const isAhead = (environment: Environment, text: string): boolean => {
  const ast = parse(text, environment.syntax);
  if (isParseError(ast)) return false;
  const names = new Set([...environment.functions.keys()].map(name => name.slice(name.lastIndexOf('.') + 1)));
  const open: Expr[] = [ast.root];
  for (let expr = open.pop(); expr; expr = open.pop()) {
    if (expr.kind === 'call' && libraryFunctions.has(expr.function) && !names.has(expr.function)) return true;
    open.push(...inside(expr));
  }
  return false;
};

/** What became of an expression: a program, or why there is none. Nothing for one that cannot be judged. */
export type Compiled = {readonly program: Program} | {readonly problem: string} | undefined;

const compiled = (environment: Environment, text: string, wanted: 'bool' | 'string'): Compiled => {
  const made = compile(environment, text);
  if (!isCompileError(made)) {
    if (made.type.kind === wanted) return {program: made};
    return {problem: wanted === 'bool' ? 'cel expression must evaluate to a bool' : 'messageExpression must evaluate to a string'};
  }
  if (isAhead(environment, text)) return undefined;
  const what = made.reason === 'constant' ? (wanted === 'bool' ? 'program instantiation failed' : 'messageExpression instantiation failed') : wanted === 'bool' ? 'compilation failed' : 'messageExpression compilation failed';
  return {problem: `${what}: ${made.message}`};
};

/** A rule's two expressions. The second is looked at only where the first is one. */
export const compileRule = (environments: RuleEnvironments, {rule = '', messageExpression, optionalOldSelf}: ValidationRule): {readonly rule: Compiled; readonly message?: Compiled} => {
  const environment = environments.of(optionalOldSelf === true);
  const made = compiled(environment, rule, 'bool');
  if (!made || 'problem' in made || !messageExpression) return {rule: made};
  return {rule: made, message: compiled(environment, messageExpression, 'string')};
};
