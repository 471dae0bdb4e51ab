// Writes the schemas of all built-in kinds to dist/schema, one file per group version, from the models in @kubernetes/client-node.
// The models are read as text and never loaded. A `.docs.json.gz` beside each `<group>.<version>.json` contains the
// descriptions, which only OpenAPI documents need.
//
// Field types are written in Go's notation: `string`, `int32`, `[]string`, `map[string][]byte`, `core/v1.PodSpec`.
import {createHash} from 'node:crypto';
import {existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync} from 'node:fs';
import {gzipSync} from 'node:zlib';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {chosenText, losesCapital, readTexts, textSources} from './schema-texts.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const modules = join(root, 'node_modules');
const library = join(modules, '@kubernetes/client-node');
const generated = join(library, 'dist/gen');
const target = join(root, 'dist/schema');

/** Types of the meta group, which the package does not mark. */
const metaTypes = new Set(
  `APIGroup APIGroupList APIResource APIResourceList APIVersions Condition DeleteOptions FieldSelectorRequirement GroupVersionForDiscovery
  LabelSelector LabelSelectorRequirement ListMeta ManagedFieldsEntry ObjectMeta OwnerReference Preconditions ServerAddressByClientCIDR Status StatusCause
  StatusDetails WatchEvent`.split(/\s+/),
);

/** Types that are only used by subresources of other groups. */
const elsewhere = {
  Scale: 'autoscaling',
  ScaleSpec: 'autoscaling',
  ScaleStatus: 'autoscaling',
  Eviction: 'policy',
  BoundObjectReference: 'authentication',
  TokenRequestSpec: 'authentication',
  TokenRequestStatus: 'authentication',
  TopologySelectorLabelRequirement: '',
  TopologySelectorTerm: '',
};

const prefixes = {
  Core: '',
  Events: 'events',
  Discovery: 'discovery',
  Rbac: 'rbac.authorization',
  Flowcontrol: 'flowcontrol.apiserver',
  Resource: 'resource',
  Storage: 'storage',
  Authentication: 'authentication',
  Admissionregistration: 'admissionregistration',
  Apiextensions: 'apiextensions',
  Apiregistration: 'apiregistration',
};

const scalars = {
  'string ': 'string',
  'string byte': 'byte',
  'boolean ': 'bool',
  'number int32': 'int32',
  'number int64': 'int64',
  'number double': 'float64',
  'number ': 'float64',
  'Date date-time': 'time',
  'Date date-time-micro': 'microtime',
  'V1MicroTime date-time-micro': 'microtime',
  'Date ': 'time',
  'IntOrString int-or-string': 'intorstring',
  'any ': 'any',
};

const unescape = text => text.replaceAll(/\\(['"\\])/g, '$1').replaceAll('*_/', '*/');

/** Returns a model's fields with types, descriptions and required marks, from its two files. */
const readModel = (folder, name) => {
  const declaration = readFileSync(join(folder, `${name}.d.ts`), 'utf8');
  const code = readFileSync(join(folder, `${name}.js`), 'utf8');
  const head = /\/\*\*\n\* ([^\n]*)\n\*\/\nexport declare class/.exec(declaration);
  const fields = new Map();
  for (const [, field, type, format] of code.matchAll(
    /"name": "[^"]*",\s*"baseName": "([^"]*)",\s*"type": "([^"]*)",\s*"format": "([^"]*)"/g,
  )) {
    fields.set(field, {type, format, required: false, description: ''});
  }
  const names = new Map([...code.matchAll(/"name": "([^"]*)",\s*"baseName": "([^"]*)"/g)].map(([, own, base]) => [own, base]));
  for (const [, description, own, optional] of declaration.matchAll(/(?:\/\*\*\n    \* ([^\n]*)\n    \*\/\n    )?'([^'\n]+)'(\?)?:/g)) {
    const field = fields.get(names.get(own) ?? own);
    if (!field) continue;
    field.required = optional === undefined;
    if (description) field.description = unescape(description);
  }
  return {fields, description: head ? unescape(head[1]) : ''};
};

const readModels = () => {
  const folder = join(generated, 'models');
  const models = new Map();
  for (const file of readdirSync(folder)) {
    const found = /^(([A-Z][a-z]+)?V(\d+(?:(?:alpha|beta)\d+)?)([A-Z].*))\.d\.ts$/.exec(file);
    if (!found) continue;
    const [, className, prefix, version, type] = found;
    models.set(className, {
      ...readModel(folder, className),
      version: `v${version}`,
      type,
      group: prefix === undefined ? undefined : prefixes[prefix],
    });
  }
  return models;
};

/** Returns the group and version of each API file, with the models that it refers to. */
const readApis = () =>
  readdirSync(join(generated, 'apis')).flatMap(file => {
    const found = /^([A-Z][A-Za-z]*?)V(\d+(?:(?:alpha|beta)\d+)?)Api\.d\.ts$/.exec(file);
    if (!found) return [];
    const words = found[1].replaceAll(/(?!^)([A-Z])/g, '.$1').toLowerCase();
    const names = [...readFileSync(join(generated, 'apis', file), 'utf8').matchAll(/models\/(\w+)\.js/g)].map(([, name]) => name);
    return [{group: words === 'core' ? '' : words, version: `v${found[2]}`, names}];
  });

const referenced = type => /([A-Z]\w*V?\d\w*)/.exec(type)?.[1];

/** Assigns each model to a group: the only one that refers to it, or core if there are several. */
const assignGroups = models => {
  const reachedBy = new Map();
  for (const {group, names} of readApis()) {
    const open = [...names];
    const seen = new Set();
    while (open.length > 0) {
      const name = open.pop();
      const model = models.get(name);
      if (!model || seen.has(name)) continue;
      seen.add(name);
      reachedBy.set(name, (reachedBy.get(name) ?? new Set()).add(group));
      for (const {type} of model.fields.values()) open.push(referenced(type) ?? '');
    }
  }
  for (const [name, model] of models) {
    const groups = reachedBy.get(name) ?? new Set();
    if (metaTypes.has(model.type) && model.version === 'v1' && model.group === undefined) model.group = 'meta';
    else if (elsewhere[model.type] !== undefined && model.version === 'v1') model.group ??= elsewhere[model.type];
    else model.group ??= groups.has('') ? '' : [...groups][0];
  }
};

const groupVersion = ({group, version}) => `${group === '' ? 'core' : group}.${version}`;

const goType = (models, type, format) => {
  const list = /^Array<(.*)>$/.exec(type);
  if (list) return `[]${goType(models, list[1], format)}`;
  const map = /^\{ \[key: string\]: (.*); \}$/.exec(type);
  if (map) return `map[string]${goType(models, map[1], format)}`;
  const scalar = scalars[`${type} ${format}`] ?? scalars[`${type} `];
  if (scalar) return scalar;
  const model = models.get(type);
  if (!model) throw new Error(`the type ${type} (${format}) is unknown`);
  return `${model.group === '' ? 'core' : model.group}/${model.version}.${model.type}`;
};

/** Types of fields for which the models have the text of the type instead of the field's. */
const typesWithText = new Set(['IntOrString', 'V1MicroTime']);

/**
 * The descriptions of a model and of its fields. An empty one is that of a field which is known to have none; without
 * one, it is not known.
 */
const docsOf = (model, texts, capitals) => ({
  description: chosenText(model.description, texts?.description),
  fields: Object.fromEntries(
    [...model.fields]
      .map(([name, {type, description}]) => {
        const whole = texts?.fields.get(name);
        return [name, chosenText(whole && typesWithText.has(type) ? '' : description, whole, {capitals})];
      })
      .filter(([, text]) => text || texts !== undefined)
      .map(([name, text]) => [name, text ?? '']),
  ),
});

/** The group versions whose texts begin with capitals. */
const groupVersionsWithCapitals = (models, textsOf) =>
  new Set(
    models.flatMap(model => {
      const texts = textsOf(model);
      const loses = [...model.fields].some(([name, {description}]) => losesCapital(description, texts?.fields.get(name)));
      return loses ? [groupVersion(model)] : [];
    }),
  );

const write = (models, stamp) => {
  const files = new Map();
  const textsOf = readTexts(modules);
  const capitals = groupVersionsWithCapitals(
    [...models.values()].filter(({group}) => group !== undefined),
    textsOf,
  );
  for (const model of [...models.values()].filter(({group}) => group !== undefined)) {
    const file = files.get(groupVersion(model)) ?? {types: {}, docs: {}};
    files.set(groupVersion(model), file);
    const fields = [...model.fields];
    const required = fields.filter(([, field]) => field.required).map(([name]) => name);
    file.types[model.type] = {
      fields: Object.fromEntries(fields.map(([name, {type, format}]) => [name, goType(models, type, format)])),
      ...(required.length > 0 ? {required} : {}),
    };
    file.docs[model.type] = docsOf(model, textsOf(model), capitals.has(groupVersion(model)));
  }
  const fresh = `${target}.${process.pid}`;
  mkdirSync(fresh, {recursive: true});
  for (const [name, {types, docs}] of files) {
    writeFileSync(join(fresh, `${name}.json`), JSON.stringify(types));
    writeFileSync(join(fresh, `${name}.docs.json.gz`), gzipSync(JSON.stringify(docs), {level: 9}));
  }
  // Running planes read these files on demand, so each is replaced atomically.
  mkdirSync(target, {recursive: true});
  const made = readdirSync(fresh);
  for (const name of made) renameSync(join(fresh, name), join(target, name));
  for (const name of readdirSync(target)) if (name !== 'stamp' && !made.includes(name)) rmSync(join(target, name));
  writeFileSync(join(fresh, 'stamp'), stamp);
  renameSync(join(fresh, 'stamp'), join(target, 'stamp'));
  rmSync(fresh, {recursive: true});
  return files.size;
};

const stampOf = () => {
  const hash = createHash('sha256');
  const tools = ['schema.mjs', 'schema-texts.mjs'].map(name => join(root, 'tools', name));
  for (const file of [...tools, join(library, 'package.json'), ...textSources(modules)]) hash.update(readFileSync(file));
  return hash.digest('hex');
};

const stamp = stampOf();
const stampFile = join(target, 'stamp');
if (textSources(modules).length === 0)
  console.log('kubernetes-models is not installed: npm ci brings it; fields that refer to a type have no text of their own');
if (!existsSync(stampFile) || readFileSync(stampFile, 'utf8') !== stamp) {
  const models = readModels();
  assignGroups(models);
  console.log(`wrote the schemas of ${write(models, stamp)} group versions`);
}
