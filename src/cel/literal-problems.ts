// The checks of constants that an expression passes to the library: durations, timestamps, patterns and format strings,
// and lists and maps of mixed types. They decide whether an expression is accepted, as upstream's literal validators
// do.

import {StepCount, type Steps} from '#src/base/steps.js';
import type {CallExpr, Expr, ListExpr, MapExpr} from '#src/cel/syntax/ast.js';
import type {CheckedAst} from '#src/cel/check/check.js';
import {clauseErrorMessage, parseTemplate, FormatError} from './libraries/string-format.js';
import {regexpError} from '#src/schema/regexp.js';
import {addProblem, type Problem} from '#src/cel/values/problem.js';
import {dyn, optionalElement, type Type, type TypeKind} from '#src/cel/values/types.js';
import {Failure} from '#src/cel/values/values.js';
import {nodes, nodesPerStep} from '#src/cel/syntax/walk.js';

type Found = readonly {readonly at: Expr; readonly message: string}[];

const typeOf = ({types}: CheckedAst, {id}: Expr): Type => types[id] ?? dyn;

/** Reports an invalid constant duration, timestamp or pattern. */
const argumentProblems = (ast: CheckedAst, call: CallExpr): Found => {
  const [arg] = call.args;
  if (arg?.kind !== 'literal') return [];
  const reference = ast.references.get(call.id);
  const [overload] = reference?.kind === 'function' ? reference.overloads : [];
  const isBad =
    call.function === 'matches'
      ? typeof arg.value === 'string' && regexpError(arg.value) !== undefined
      : overload?.run?.(arg.value) instanceof Failure;
  return isBad ? [{at: arg, message: `invalid ${call.function} argument`}] : [];
};

const mismatch = (at: Expr, expected: Type, found: Type): Found => [
  {at, message: `expected type '${expected.text}' but found '${found.text}'`},
];

const elementType = (type: Type, isOptional: boolean): Type => (isOptional ? (optionalElement(type) ?? type) : type);

const mixedList = (ast: CheckedAst, {elements, optional}: ListExpr): Found => {
  const types = elements.map((element, index) => elementType(typeOf(ast, element), optional.has(index)));
  const unsupported = types.findIndex(({text}) => text !== types[0]!.text);
  return unsupported === -1 ? [] : mismatch(elements[unsupported]!, types[0]!, types[unsupported]!);
};

const mixedMap = (ast: CheckedAst, {entries}: MapExpr): Found => {
  const typed = entries.map(({key, value, optional}) => ({
    key,
    value,
    keyType: typeOf(ast, key),
    valueType: elementType(typeOf(ast, value), optional),
  }));
  const [first] = typed;
  if (!first) return [];
  return typed.flatMap(({key, value, keyType, valueType}) => [
    ...(keyType.text === first.keyType.text ? [] : mismatch(key, first.keyType, keyType)),
    ...(valueType.text === first.valueType.text ? [] : mismatch(value, first.valueType, valueType)),
  ]);
};

const integers: readonly TypeKind[] = ['int', 'uint'];
const doubles: readonly TypeKind[] = ['double', 'string'];
const hexadecimals: readonly TypeKind[] = [...integers, 'string', 'bytes'];

/** The argument types of each format clause. */
const clauseTypes: Readonly<Record<string, readonly TypeKind[]>> = {
  s: [...integers, 'list', 'map', 'double', 'bool', 'string', 'timestamp', 'bytes', 'duration', 'type', 'null'],
  d: integers,
  f: doubles,
  e: doubles,
  b: [...integers, 'bool'],
  x: hexadecimals,
  X: hexadecimals,
  o: integers,
};

/** Returns the argument, or the part of it, whose type the clause does not support. */
const unsupportedPart = (ast: CheckedAst, arg: Expr, letter: string): Expr | undefined => {
  const {kind} = typeOf(ast, arg);
  if (kind !== 'dyn' && !clauseTypes[letter]!.includes(kind)) return arg;
  if (letter !== 's') return undefined;
  const within = arg.kind === 'list' ? arg.elements : arg.kind === 'map' ? arg.entries.flatMap(({key, value}) => [key, value]) : [];
  for (const part of within) {
    const unsupported = unsupportedPart(ast, part, letter);
    if (unsupported) return unsupported;
  }
  return undefined;
};

const formatCallProblems = (ast: CheckedAst, call: CallExpr): Found => {
  const [list] = call.args;
  if (call.target?.kind !== 'literal' || typeof call.target.value !== 'string' || list?.kind !== 'list') return [];
  const {elements} = list;
  try {
    let used = 0;
    for (const piece of parseTemplate(call.target.value, elements.length)) {
      if (typeof piece === 'string') continue;
      used += 1;
      const unsupported = unsupportedPart(ast, elements[piece.index]!, piece.letter);
      if (unsupported) return [{at: unsupported, message: clauseErrorMessage(piece.letter, typeOf(ast, unsupported).name)}];
    }
    const many = `too many arguments supplied to string.format (expected ${used}, got ${elements.length})`;
    return used < elements.length ? [{at: call, message: many}] : [];
  } catch (error) {
    if (error instanceof FormatError) return [{at: call, message: error.message}];
    throw error;
  }
};

const found = (ast: CheckedAst, expr: Expr): Found => {
  switch (expr.kind) {
    case 'list':
      return mixedList(ast, expr);
    case 'map':
      return mixedMap(ast, expr);
    case 'call':
      if (expr.function === 'format' && expr.target) return formatCallProblems(ast, expr);
      return expr.function === 'duration' || expr.function === 'timestamp' || expr.function === 'matches'
        ? argumentProblems(ast, expr)
        : [];
    default:
      return [];
  }
};

const isLiteral = ({kind}: Expr): boolean => kind === 'list' || kind === 'map';

/** The lists and maps within calls of `format`, whose elements may have mixed types. */
const formattedLiterals = function* (all: readonly Expr[]): Steps<ReadonlySet<Expr>> {
  const formatted = new Set<Expr>();
  const steps = new StepCount(nodesPerStep);
  for (const call of all) {
    if (call.kind !== 'call' || call.function !== 'format') continue;
    for (const expr of nodes(call)) {
      if (isLiteral(expr)) formatted.add(expr);
      if (steps.add(1)) yield;
    }
  }
  return formatted;
};

/** So much takes parsing a pattern, or calling a conversion, compared with looking at a node. */
const nodesOfCall = 20;

/** How much it takes to look at a node, compared with one that is always right. */
const workOf = (expr: Expr): number => {
  if (expr.kind !== 'call') return 1;
  const [arg] = expr.args;
  return arg?.kind === 'literal' && typeof arg.value === 'string' ? nodesOfCall + arg.value.length / 10 : 1;
};

/** Validates constant parts of a well-typed expression, in steps. */
export const literalProblems = function* (ast: CheckedAst): Steps<readonly Problem[]> {
  const all = [...nodes(ast.root)];
  const formatted = yield* formattedLiterals(all);
  const problems: Problem[] = [];
  const steps = new StepCount(nodesPerStep);
  for (const expr of all) {
    if (steps.add(workOf(expr))) yield;
    if (formatted.has(expr)) continue;
    for (const {at, message} of found(ast, expr)) addProblem(problems, ast.text, ast.positions[at.id] ?? -1, message);
  }
  return problems;
};
