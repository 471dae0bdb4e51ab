// The types of constants that are literals: of `const phases = ['Ready', 'Failed'] as const` a list of two literals.

import {noDoc} from '#src/codegen/doc.js';
import type {TypeParser} from './parser.js';
import type {Property, TypeNode} from './syntax.js';

/** Returns the constant that is declared here; undefined if it is none of literals. Stays where it is. */
export const constantOf = (parser: TypeParser): {readonly name: string; readonly type: TypeNode} | undefined => {
  if (!parser.is('const') || !parser.isName(1) || !parser.is('=', 2)) return undefined;
  const {position} = parser;
  try {
    parser.next();
    const name = parser.name();
    parser.expect('=');
    const type = literalOf(parser);
    const isWhole = parser.isEnd || parser.beginsLine || [';', 'as', 'satisfies'].some(word => parser.is(word));
    if (!type || !isWhole) return undefined;
    const isConst = parser.is('as') && parser.is('const', 1);
    return {name, type: isConst || type.is === 'literal' ? type : widened(type)};
  } catch {
    return undefined; // A value that only looks like a literal.
  } finally {
    parser.return(position);
  }
};

const literalOf = (parser: TypeParser): TypeNode | undefined => {
  const {type} = parser.token;
  if (parser.is('[')) return listOf(parser);
  if (parser.is('{')) return objectOf(parser);
  const isWord = ['true', 'false', 'null'].some(word => parser.is(word));
  return type === 'string' || type === 'number' || parser.is('-') || isWord ? parser.type() : undefined;
};

/** Reads a value within brackets; one that is no literal is of no known type. */
const memberOf = (parser: TypeParser): TypeNode => {
  const at = parser.place;
  const type = literalOf(parser);
  if (type && [',', '}', ']'].some(sign => parser.is(sign))) return type;
  while (![',', '}', ']'].some(sign => parser.is(sign)) && !parser.isEnd) {
    if (['(', '{', '['].some(sign => parser.is(sign))) parser.skipGroup();
    else parser.next();
  }
  return {is: 'none', reason: 'only literals of a constant can become a schema: write the value out', at};
};

const listOf = (parser: TypeParser): TypeNode => {
  const at = parser.place;
  const members: TypeNode[] = [];
  parser.expect('[');
  while (!parser.take(']') && !parser.isEnd) {
    members.push(memberOf(parser));
    parser.take(',');
  }
  return {is: 'tuple', members, at};
};

const objectOf = (parser: TypeParser): TypeNode => {
  const at = parser.place;
  const properties: Property[] = [];
  parser.expect('{');
  while (!parser.take('}') && !parser.isEnd) {
    const place = parser.place;
    const name = parser.next().text;
    if (parser.take(':')) properties.push({name, isOptional: false, type: memberOf(parser), doc: noDoc, at: place});
    else memberOf(parser);
    parser.take(',');
  }
  return {is: 'object', body: {properties}, at};
};

/** The type of a value that can be changed. */
const widened = (type: TypeNode): TypeNode => {
  const {at} = type;
  if (type.is === 'literal' && type.value !== null) return {is: 'name', name: typeof type.value, of: [], at};
  if (type.is === 'tuple') return {is: 'array', items: {is: 'union', members: type.members.map(widened), at}, at};
  if (type.is !== 'object') return type;
  return {is: 'object', body: {properties: type.body.properties.map(each => ({...each, type: widened(each.type)}))}, at};
};
