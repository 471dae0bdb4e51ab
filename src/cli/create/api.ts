// `plat create api`: a second kind, or another version of one, in a project.

import {naming} from '#src/api/naming.js';
import {extendExample, extendImports, extendKustomization, extendList, extendRights, serveWebhooks, verbs} from './extend.js';
import {kindNames, type ProjectNames} from './names.js';
import type {Project} from './project.js';
import {inWordsOf, templateText} from './template.js';

/** What is added. */
export interface AddedApi {
  readonly kind: string;
  readonly group: string;
  readonly version: string;
}

const camel = (kind: string): string => `${kind.slice(0, 1).toLowerCase()}${kind.slice(1)}`;

/** Adds a kind with its controller and test, or a version of a kind that is declared with its conversion. */
export const addApi = (project: Project, {kind, group, version}: AddedApi): void => {
  if (!/^v\d+((alpha|beta)\d+)?$/.test(version))
    throw new Error(`--api-version must be such as v1 or v2beta1, not ${JSON.stringify(version)}`);
  const declared = project.kinds();
  const known = declared.find(({definition: {spec}}) => spec.names.kind === kind);
  const ofProject = known ?? declared[0];
  const names: ProjectNames = {name: project.name, ...kindNames(kind, group || (ofProject?.definition.spec.group ?? 'example.com'))};
  if (known)
    addVersion(
      project,
      names,
      version,
      known.definition.spec.versions.map(({name}) => name),
      storedOf(known),
    );
  else addKind(project, names, version);
  const files = project.generate();
  for (const file of files.filter(each => each === `${names.plural}.${names.group}.yaml`)) extendKustomization(project, `crds/${file}`);
};

const storedOf = ({definition, sources}: ReturnType<Project['kinds']>[number]): {readonly version: string; readonly source: string} => {
  const [source, other] = sources;
  const {name} = definition.spec.versions.find(({storage}) => storage)!;
  if (source === undefined || other !== undefined)
    throw new Error(
      `${definition.spec.names.kind} has several versions already, in ${sources.join(', ')}: add another one to them by hand`,
    );
  return {version: name, source};
};

const addKind = (project: Project, names: ProjectNames, version: string): void => {
  const {name, kind, plural, file, group} = names;
  const controller = `${camel(kind)}Controller`;
  const words = (text: string): string => inWordsOf(names, text);
  project.add(`src/${file}.ts`, words(templateText('src/sample.ts')).replace("version: 'v1'", `version: '${version}'`));
  project.add(
    `src/${file}-controller.ts`,
    words(templateText('src/controller.ts'))
      .replace('export const controller', `export const ${controller}`)
      .replace(`name: '${name}'`, `name: '${name}-${plural}'`),
  );
  project.add(
    `test/${file}.test.ts`,
    words(templateText('test/controller.test.ts')).replace(
      "import {controller} from '../src/controller.js'",
      `import {${controller} as controller} from '../src/${file}-controller.js'`,
    ),
  );
  extendImports(project, controller, `${file}-controller`);
  extendList(project, 'controllers', controller);
  extendRights(project, [
    ...verbs({group, resource: plural}, 'get', 'list', 'watch'),
    ...verbs({group, resource: `${plural}/status`}, 'patch'),
    ...verbs({group, resource: `${plural}/finalizers`}, 'update'),
  ]);
  extendExample(project, words(templateText('example.yaml')).replace(`/v1\n`, `/${version}\n`));
};

const addVersion = (
  project: Project,
  {name, kind, file, plural, group}: ProjectNames,
  version: string,
  versions: readonly string[],
  {version: hub, source}: {readonly version: string; readonly source: string},
): void => {
  if (versions.includes(version)) throw new Error(`${kind} has the version ${version} already, in ${source}`);
  const text = project.text(source);
  const handle = `version: '${hub}'`;
  if (text.split(handle).length !== 2)
    throw new Error(`${source} has no handle with ${handle}, or several: add the version by hand. Nothing was changed`);
  const [other, stored] = [version, hub].map(each => `${kind}${each.slice(0, 1).toUpperCase()}${each.slice(1)}`) as [string, string];
  const module = source.replace(/^src\//, '').replace(/\.ts$/, '');
  project.add(`src/${module}-${version}.ts`, text.replace(handle, `version: '${version}'`));
  project.insert(source, {
    at: new RegExp(` \\*/\\n(?=export (interface|type) ${kind}\\b)`),
    with: ([end]) => ` * @storage\n * @conversion webhook service=${name}/${name} path=/convert\n${end}`,
    byHand: `add @storage and @conversion to the comment of ${kind}`,
  });
  const conversion = `${camel(kind)}Conversion`;
  const names: ConversionNames = {file, kind, module, version, hub, other, stored, conversion};
  project.add(`src/${file}-conversion.ts`, conversionText(names));
  project.add(`test/${file}-conversion.test.ts`, conversionTest(names));
  extendImports(project, conversion, `${file}-conversion`);
  extendList(project, 'webhooks', conversion);
  serveWebhooks(project);
  const definition = {
    group: naming('kubernetes').group('apiextensions'),
    resource: 'customresourcedefinitions',
    name: `${plural}.${group}`,
  };
  extendRights(project, verbs(definition, 'get', 'list', 'watch', 'patch'));
};

interface ConversionNames {
  readonly file: string;
  readonly kind: string;
  readonly module: string;
  readonly version: string;
  readonly hub: string;
  /** The type of the new version, and of the stored one. */
  readonly other: string;
  readonly stored: string;
  readonly conversion: string;
}

const conversionText = ({
  kind,
  module,
  version,
  hub,
  other,
  stored,
  conversion,
}: ConversionNames): string => `import {converting} from '@platio/plat/operator';
import {${kind} as ${stored}} from './${module}.js';
import type {${kind} as ${other}} from './${module}-${version}.js';

// ${hub} is stored. Say here what becomes of the fields in which ${version} differs; what is left out would be lost.

export const from${other} = ({spec, ...rest}: ${other}): ${stored} => ({...rest, spec: {...spec}});

export const to${other} = ({spec, ...rest}: ${stored}): ${other} => ({...rest, spec: {...spec}});

export const ${conversion} = converting(${stored}, {
  hub: '${hub}',
  versions: {${version}: {toHub: from${other}, fromHub: to${other}}},
});
`;

const conversionTest = ({
  file,
  kind,
  module,
  version,
  hub,
  other,
  stored,
}: ConversionNames): string => `import assert from 'node:assert/strict';
import test from 'node:test';
import {${kind} as ${stored}} from '../src/${module}.js';
import {${kind} as ${other}} from '../src/${module}-${version}.js';
import {from${other}, to${other}} from '../src/${file}-conversion.js';
import {started} from './plane.js';

const metadata = {name: 'a', namespace: 'default'};
const spec = {text: 'hi', repeat: 2};

test('a ${version} that goes through ${hub} comes back as it was', () => {
  const object: ${other} = {metadata, spec};

  assert.deepEqual(to${other}(from${other}(object)), object);
});

test('what is written as ${version} is read as ${hub}, and the other way round', async t => {
  const plane = await started(t);
  const [stored, other] = [plane.client().resource(${stored}), plane.client().resource(${other})];

  await other.create({metadata, spec});
  assert.deepEqual((await stored.get('a', metadata)).spec, spec);
  assert.deepEqual((await other.get('a', metadata)).spec, spec);
});
`;
