import type {TypeNode} from './syntax.js';

/** Returns a type as it is written, for messages and to tell types apart. */
export const typeText = (type: TypeNode): string => {
  switch (type.is) {
    case 'literal':
      return JSON.stringify(type.value);
    case 'name':
      return `${type.qualifier === undefined ? '' : `${type.qualifier}.`}${type.name}${type.of.length > 0 ? `<${listText(type.of)}>` : ''}`;
    case 'array':
      return `${typeText(type.items)}[]`;
    case 'tuple':
      return `[${listText(type.members)}]`;
    case 'union':
    case 'intersection':
      return `(${type.members.map(typeText).join(type.is === 'union' ? ' | ' : ' & ')})`;
    case 'object':
      return `{${type.body.properties.map(({name, isOptional, type: of}) => `${name}${isOptional ? '?' : ''}: ${typeText(of)}`).join('; ')}${
        type.body.index ? `; [name: string]: ${typeText(type.body.index)}` : ''
      }}`;
    case 'keyof':
      return `keyof ${typeText(type.type)}`;
    case 'index':
      return `${typeText(type.type)}[${typeText(type.key)}]`;
    case 'mapped':
      return `{[${type.parameter} in ${typeText(type.keys)}]: ${typeText(type.type)}}`;
    case 'conditional':
      return `${typeText(type.check)} extends ${typeText(type.base)} ? ${typeText(type.yes)} : ${typeText(type.no)}`;
    case 'infer':
      return `infer ${type.name}`;
    case 'template':
      return `\`${type.texts.join('${...}')}\``;
    case 'value':
      return `typeof ${type.name}`;
    case 'documented':
      return typeText(type.type);
    case 'schema':
      return type.name;
    case 'none':
      return 'a type without a schema';
  }
};

const listText = (types: readonly TypeNode[]): string => types.map(typeText).join(', ');
