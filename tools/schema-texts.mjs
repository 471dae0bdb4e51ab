// The descriptions of types and fields as the original's documents have them: with line breaks, the possible values,
// and a text of each field that refers to a type. They are read from the declarations of the package kubernetes-models,
// which is never loaded; @kubernetes/client-node has one line for each, and none for fields that refer to a type.
import {existsSync, readFileSync, readdirSync} from 'node:fs';
import {join} from 'node:path';

/** The packages of a folder of installed packages that have such declarations. */
const packages = ['kubernetes-models', '@kubernetes-models/apimachinery'];

/** The manifests of the packages that texts are read from; empty where they are not installed. */
export const textSources = modules => packages.map(name => join(modules, name, 'package.json')).filter(file => existsSync(file));

const groupNames = {
  '': 'IoK8sApiCore',
  meta: 'IoK8sApimachineryPkgApisMeta',
  apiextensions: 'IoK8sApiextensionsApiserverPkgApisApiextensions',
  apiregistration: 'IoK8sKubeAggregatorPkgApisApiregistration',
  'rbac.authorization': 'IoK8sApiRbac',
  'flowcontrol.apiserver': 'IoK8sApiFlowcontrol',
  'internal.apiserver': 'IoK8sApiApiserverinternal',
};

const capital = text => text.charAt(0).toUpperCase() + text.slice(1);
const identifierOf = ({group, version, type}) => `${groupNames[group] ?? `IoK8sApi${capital(group)}`}${capital(version)}${type}`;

/** The text of a comment, whose signs of Markdown are escaped. */
const commentText = lines =>
  lines
    .trimEnd()
    .split('\n')
    .map(line => line.replace(/^\s*\* ?/, ''))
    .filter(line => line !== '@deprecated') // The generator's, not the text's.
    .join('\n')
    .replaceAll(/\\([*_/`<>])/g, '$1')
    .replaceAll('*_/', '*/');

const head = /\/\*\*\n((?: \*(?!\/).*\n)+) \*\/\nexport interface/;
const member = / {4}\/\*\*\n((?: {5}\*(?!\/).*\n)+) {5}\*\/\n {4}"([^"]+)"/g;

/** Returns the texts of a declaration by its identifier; undefined for a file of another form. */
const textsIn = declaration => {
  const identifier = /\w+ as I(Io\w+)/.exec(declaration)?.[1];
  const start = declaration.indexOf('export interface');
  if (identifier === undefined || start < 0) return undefined;
  const body = declaration.slice(start, declaration.indexOf('\n}\n', start));
  const description = head.exec(declaration)?.[1];
  return [
    identifier,
    {
      description: description === undefined ? '' : commentText(description),
      fields: new Map([...body.matchAll(member)].map(([, text, field]) => [field, commentText(text)])),
    },
  ];
};

/** Reads the texts of all types. Returns those of a model by its group, version and type. */
export const readTexts = modules => {
  const texts = new Map(
    packages
      .map(name => join(modules, name))
      .filter(folder => existsSync(folder))
      .flatMap(folder => readdirSync(folder, {recursive: true}).map(file => join(folder, file)))
      .filter(file => file.endsWith('.d.ts') && !file.includes('_schemas'))
      .map(file => textsIn(readFileSync(file, 'utf8')))
      .filter(found => found !== undefined),
  );
  return model => texts.get(identifierOf(model));
};

const possibleValues = /\n\nPossible enum values:\n[^]*$/;
const wordsOf = text => text.replace(possibleValues, '').trim().split(/\s+/);
const sameWords = (one, other) => one.length === other.length && one.every((word, at) => word.toLowerCase() === other[at].toLowerCase());

/** Lays the words of a text into the lines of another one. */
const inLinesOf = (words, whole) => {
  let at = 0;
  const values = possibleValues.exec(whole)?.[0] ?? '';
  return whole.slice(0, whole.length - values.length).replaceAll(/\S+/g, () => words[at++]) + values;
};

/**
 * Chooses between the text of a release and the one with line breaks, which may be of a later release: the words are those of the former. Without a former
 * one, where later releases begin the texts of a group version with the fields' names in lower case, the first letter is a capital.
 */
export const chosenText = (text, whole, {capitals = false} = {}) => {
  if (!whole) return text;
  if (!text) return capitals ? capital(whole).replace(/^Metadata is (?:the )?s/, 'S') : whole;
  const words = wordsOf(text);
  return sameWords(words, wordsOf(whole)) ? inLinesOf(words, whole) : text + (possibleValues.exec(whole)?.[0] ?? '');
};

/** Whether the later text of a field begins with a small letter where the former one has a capital. */
export const losesCapital = (text, whole) =>
  Boolean(text && whole) && /^[A-Z]/.test(text) && /^[a-z]/.test(whole) && sameWords(wordsOf(text), wordsOf(whole));
