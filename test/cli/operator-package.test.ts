import {execFileSync, spawnSync} from 'node:child_process';
import {existsSync, mkdirSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {operatorProject} from '#src/cli/package/project/operator-project.js';
import {packageFiles} from '#src/cli/package/package.js';
import {packageFormats} from '#src/options/programs/package.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {ChartRenderer, parsedYaml} from './chart-renderer.js';
import {aProject} from './created-project.js';
import {aDirectory, run} from './programs.js';

type Fields = Readonly<Record<string, unknown>>;

const image = 'registry.example.com/storage/volumes:1.2.3';

/** The files of a project's package by their names. */
const filesOf = (folder: string, {version = '', formats = packageFormats as readonly (typeof packageFormats)[number][]} = {}) =>
  Object.fromEntries(
    packageFiles(operatorProject(folder, {version, image}), {channel: 'alpha', formats}).map(({name, text}) => [name, text]),
  );

/** Returns the objects of a text. */
const objectsOf = (text: string): Fields[] =>
  text
    .split(/^---$/m)
    .filter(part => /^[^\s#]/m.test(part))
    .map(parsedYaml);

/** Returns the objects of a chart, rendered with values. */
const rendered = (files: Readonly<Record<string, string>>, values: Fields = {}, namespace = 'elsewhere'): Fields[] => {
  const given = parsedYaml(files['chart/values.yaml']!);
  const merged = Object.fromEntries(
    Object.entries({...given, ...values}).map(([name, value]) => [
      name,
      typeof value === 'object' && !Array.isArray(value) ? {...(given[name] as object), ...value} : value,
    ]),
  );
  const chart = parsedYaml(files['chart/Chart.yaml']!);
  const renderer = new ChartRenderer({
    Values: merged,
    Release: {Name: 'one', Namespace: namespace, Service: 'Helm'},
    Chart: {Name: chart['name'], AppVersion: chart['appVersion']},
  });
  renderer.render(files['chart/templates/_helpers.tpl']!);
  const templates = Object.keys(files).filter(name => /^chart\/templates\/.*\.yaml$/.test(name));
  return templates.flatMap(name => objectsOf(renderer.render(files[name]!)));
};

const byName = (objects: readonly Fields[]): readonly string[] =>
  objects.map(({kind, metadata}) => `${String(kind)} ${(metadata as {name: string}).name}`).sort();

/** A project with two kinds, one of them in two versions with a conversion, and webhooks. */
const extended = async () => {
  const project = aProject('volumes');
  await project.add('api', '--kind=Cache');
  await project.add('api', '--kind=Volume', '--api-version=v2');
  await project.add('webhook', '--kind=Volume');
  return project;
};

/** What all tests read: the files of one project, and a plane that has none of its objects. */
let shared: {readonly folder: string; readonly files: Readonly<Record<string, string>>; readonly plane: Plane};

test.before(async () => {
  const {folder} = await extended();
  const plane = await startPlane({listen: false, clock: new VirtualClock(), controllers: 'none'});
  shared = {folder, files: filesOf(folder), plane};
});

test.after.always(() => shared?.plane.stop());

test.serial('a server accepts install.yaml, and then the objects of the chart in another namespace', async t => {
  const {files, plane} = shared;
  const deployments = plane.client().resource(kinds.deployments);
  const imageIn = async (namespace: string) =>
    (await deployments.get('volumes', {namespace})).spec?.template.spec?.containers.map(container => container.image);

  await plane.apply(objectsOf(files['install.yaml']!));
  t.deepEqual(await imageIn('volumes'), [image]);

  await plane.apply([{apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'elsewhere'}}, ...rendered(files)]);
  t.deepEqual(await imageIn('elsewhere'), [image]);
  const {metadata, spec} = await plane.client().resource(kinds.customResourceDefinitions).get('volumes.example.com');
  t.is(spec.conversion?.webhook?.clientConfig?.service?.namespace, 'elsewhere');
  t.is(metadata?.annotations?.['helm.sh/resource-policy'], 'keep');
  const {subjects} = await plane.client().resource(kinds.clusterRoleBindings).get('volumes');
  t.deepEqual(subjects, [{kind: 'ServiceAccount', name: 'volumes', namespace: 'elsewhere'}]);
});

test('a server accepts the definitions and the Deployment of the bundle, whose roles grant what the manifests do', async t => {
  const {files, plane} = shared;
  const csv = parsedYaml(files['bundle/manifests/volumes.clusterserviceversion.yaml']!) as unknown as {
    metadata: {name: string; annotations: Record<string, string>};
    spec: {
      version: string;
      installModes: object[];
      customresourcedefinitions: {owned: {name: string; version: string; kind: string}[]};
      install: {spec: {deployments: {name: string; spec: Fields}[]; permissions: object[]; clusterPermissions: {rules: object[]}[]}};
      webhookdefinitions: {type: string; generateName: string; conversionCRDs?: string[]; webhookPath: string}[];
    };
  };
  const {deployments, permissions, clusterPermissions} = csv.spec.install.spec;
  const [deployment] = deployments as [(typeof deployments)[number]];
  const metadata = {name: deployment.name, namespace: 'default'};
  const made = await plane
    .client()
    .resource(kinds.deployments)
    .create({metadata, spec: deployment.spec} as never, {dryRun: true});

  t.true(made.spec?.template.spec?.containers[0]?.args?.includes('--webhook-cert-dir=/tmp/k8s-webhook-server/serving-certs'));
  t.deepEqual([csv.metadata.name, csv.spec.version], ['volumes.v0.1.0', '0.1.0']);
  t.deepEqual(csv.spec.customresourcedefinitions.owned.map(({name, version}) => `${version} ${name}`).sort(), [
    'v1 caches.example.com',
    'v1 volumes.example.com',
    'v2 volumes.example.com',
  ]);
  t.deepEqual(
    csv.spec.webhookdefinitions.map(({type, generateName, webhookPath, conversionCRDs}) => [
      type,
      generateName,
      webhookPath,
      conversionCRDs,
    ]),
    [
      ['MutatingAdmissionWebhook', 'mutate.volumes.example.com', '/mutate-example-com-v1-volume', undefined],
      ['ValidatingAdmissionWebhook', 'validate.volumes.example.com', '/validate-example-com-v1-volume', undefined],
      ['ConversionWebhook', 'convert.volumes.example.com', '/convert', ['volumes.example.com']],
    ],
  );
  const roles = objectsOf(files['install.yaml']!).filter(({kind}) => kind === 'ClusterRole' || kind === 'Role');
  const rulesOf = (kind: string) =>
    roles
      .filter(role => role['kind'] === kind && (role['metadata'] as {name: string}).name === 'volumes')
      .flatMap(role => role['rules'] as object[]);
  t.deepEqual(permissions, [{serviceAccountName: 'volumes', rules: rulesOf('Role')}]);
  t.deepEqual(clusterPermissions, [
    {serviceAccountName: 'volumes', rules: rulesOf('ClusterRole')},
  ] as object[] as typeof clusterPermissions);
  t.deepEqual(
    Object.keys(files).filter(name => name.startsWith('bundle/') && name.includes('_')),
    [
      'bundle/manifests/example.com_caches.yaml',
      'bundle/manifests/example.com_volumes.yaml',
      'bundle/manifests/volumes-metrics_service.yaml',
      'bundle/manifests/volumes-metrics-reader_clusterrole.yaml',
    ],
  );
  const labels = parsedYaml(files['bundle/metadata/annotations.yaml']!)['annotations'] as Record<string, string>;
  for (const [key, value] of Object.entries(labels)) t.true(files['bundle.Dockerfile']!.includes(`LABEL ${key}=${value}\n`), key);
});

test('the values of a chart change its Deployment and leave objects out', t => {
  const {files} = shared;
  const all = rendered(files);
  const few = rendered(files, {
    serviceAccount: {create: false, name: 'other'},
    rbac: {create: false},
    crds: {install: false},
    webhooks: {enabled: false},
    metrics: {enabled: false},
    image: {digest: `sha256:${'0'.repeat(64)}`},
    replicas: 1,
    tolerations: [{key: 'a', operator: 'Exists'}],
    nodeSelector: {disk: 'ssd'},
    extraArgs: ['--v=3'],
    podAnnotations: {note: 'true'},
  });
  const specOf = (objects: readonly Fields[]) =>
    objects.find(({kind}) => kind === 'Deployment')!['spec'] as {
      replicas: number;
      template: {metadata: Fields; spec: Fields & {containers: Fields[]}};
    };

  t.deepEqual(
    byName(all),
    byName(objectsOf(files['install.yaml']!)).filter(each => !each.startsWith('Namespace')),
  );
  t.deepEqual(byName(few), ['Deployment volumes', 'Service volumes']); // The Service is that of the conversion, too.
  const {replicas, template} = specOf(few);
  const [{args, image: used}] = template.spec.containers as [Fields];
  t.like(template.spec, {serviceAccountName: 'other', nodeSelector: {disk: 'ssd'}, tolerations: [{key: 'a', operator: 'Exists'}]});
  t.deepEqual(
    [replicas, used, template.metadata['annotations']],
    [1, `registry.example.com/storage/volumes@sha256:${'0'.repeat(64)}`, {note: 'true'}],
  );
  t.deepEqual(args, ['--leader-elect=true', '--health-probe-bind-address=0.0.0.0:8081', '--v=3']);
  const shown = ({args: given, resources, ports, securityContext}: Fields) => ({args: given, resources, ports, securityContext});
  const [charted, installed] = [all, objectsOf(files['install.yaml']!)].map(each => shown(specOf(each).template.spec.containers[0]!));
  t.deepEqual(charted, installed);
});

test('a chart has a ServiceMonitor for the Service of the metrics, if that is wanted', t => {
  const monitored = rendered(shared.files, {metrics: {serviceMonitor: {enabled: true}}});

  const labels = {app: 'volumes', 'app.kubernetes.io/component': 'metrics'};
  t.like(
    monitored.find(({kind}) => kind === 'ServiceMonitor'),
    {
      metadata: {name: 'volumes-metrics', labels},
      spec: {selector: {matchLabels: labels}, endpoints: {0: {port: 'https', scheme: 'https'}}},
    },
  );
  t.like(
    monitored.find(({metadata}) => (metadata as {name: string}).name === 'volumes-metrics')!,
    {metadata: {labels}},
  );
  t.regex(shared.files['chart/templates/NOTES.txt']!, /--clusterrole=volumes-metrics-reader/);
});

test('what is in another namespace stays there, and no bundle can grant it', async t => {
  const {folder, text, write} = aProject();
  const role = text('manifests/rights.yaml')
    .split('---\n')
    .slice(3)
    .join('---\n')
    .replaceAll('  namespace: backups\nr', '  namespace: keys\nr');
  write('manifests/rights.yaml', `${text('manifests/rights.yaml')}---\n${role}`);
  const placesOf = (objects: readonly Fields[]) =>
    objects
      .filter(({kind}) => kind === 'RoleBinding')
      .map(({metadata, subjects}) => [(metadata as Fields)['namespace'], (subjects as [Fields])[0]['namespace']]);
  const files = filesOf(folder, {formats: ['install', 'helm']});

  t.deepEqual(placesOf(objectsOf(files['install.yaml']!)), [
    ['backups', 'backups'],
    ['keys', 'backups'],
  ]);
  t.deepEqual(placesOf(rendered(files)), [
    ['elsewhere', 'elsewhere'],
    ['keys', 'elsewhere'],
  ]);
  t.throws(() => filesOf(folder), {
    message: /^a bundle cannot grant the rights of RoleBinding backups in the namespace keys: leave olm out/,
  });
  write('manifests/kustomization.yaml', `namespace: backups\n${text('manifests/kustomization.yaml')}`);
  t.throws(() => filesOf(folder), {message: 'the manifests have Role backups/backups twice'});
});

test('what Helm would read as an expression is text in a chart', async t => {
  const {folder, text, write} = aProject();
  write('src/backup.ts', text('src/backup.ts').replace('A text, and', 'A text such as {{ .Values.secret }}, and'));
  write(
    'manifests/crds/backups.example.com.yaml',
    text('manifests/crds/backups.example.com.yaml').replace('A text, and', 'A text such as {{ .Values.secret }}, and'),
  );
  const [definition] = rendered(filesOf(folder, {formats: ['helm']})).filter(({kind}) => kind === 'CustomResourceDefinition');

  t.regex(JSON.stringify(definition), /A text such as \{\{ \.Values\.secret \}\}, and/);
});

test('package.json describes the chart and the bundle', t => {
  const {folder, text, write} = aProject();
  const fields = JSON.parse(text('package.json')) as object;
  write('icon.svg', '<svg/>');
  write(
    'package.json',
    JSON.stringify({
      ...fields,
      description: 'Backs up.',
      displayName: 'Back-ups',
      author: 'Ada <ada@example.com> (https://example.com)',
      license: 'MIT',
      keywords: ['backup'],
      repository: {type: 'git', url: 'git+https://example.com/backups.git'},
      homepage: 'https://example.com/backups',
      icon: 'icon.svg',
      engines: {kubernetes: '>=1.29'},
    }),
  );
  const files = filesOf(folder, {version: '2.0.0-rc.1+b'});

  t.like(parsedYaml(files['chart/Chart.yaml']!), {
    name: 'backups',
    version: '2.0.0-rc.1+b',
    description: 'Backs up.',
    maintainers: [{name: 'Ada', email: 'ada@example.com', url: 'https://example.com'}],
    sources: ['https://example.com/backups'],
    home: 'https://example.com/backups',
    kubeVersion: '>=1.29.0-0',
    annotations: {'artifacthub.io/license': 'MIT'},
  });
  const {metadata, spec} = parsedYaml(files['bundle/manifests/backups.clusterserviceversion.yaml']!) as {metadata: Fields; spec: Fields};
  t.is(metadata['name'], 'backups.v2.0.0-rc.1-b');
  t.like(spec, {
    displayName: 'Back-ups',
    minKubeVersion: '1.29.0',
    provider: {name: 'Ada', url: 'https://example.com'},
    maintainers: [{name: 'Ada', email: 'ada@example.com'}],
    icon: [{base64data: Buffer.from('<svg/>').toString('base64'), mediatype: 'image/svg+xml'}],
  });
});

test('plat package writes the files, compares them, and removes those that it wrote for what is gone', async t => {
  const {folder, text, write} = aProject();
  const ship = (...args: string[]) => run('plat', ['package', ...args], {}, folder);
  const made = await ship('--format=install,helm');
  const same = await ship('--format=install,helm', '--check');
  write('package/chart/templates/mine.yaml', 'kind: Mine\n');
  write('package/chart/templates/old.yaml', text('package/chart/templates/role.yaml'));
  write('package/install.yaml', '');
  const differs = await ship('--format=install,helm', '--check');
  await ship('--format=helm');

  t.deepEqual([made.code, made.stdout.split('\n')[0], same.code, differs.code], [0, 'package/install.yaml', 0, 1]);
  t.is(
    differs.stderr,
    'plat package: package/chart/templates/old.yaml is no longer needed: run the same command without --check\n' +
      'plat package: package/install.yaml is not up to date: run the same command without --check\n',
  );
  t.deepEqual(
    ['mine', 'old'].map(name => existsSync(join(folder, `package/chart/templates/${name}.yaml`))),
    [true, false],
  );
  t.regex(
    objectsOf(text('package/chart/values.yaml'))
      .map(({image: each}) => JSON.stringify(each))
      .join(''),
    /"tag":"0\.1\.0"/,
  );
});

const change = (path: string, from: RegExp | string, to: string) => ({path, from, to});

for (const [{path, from, to}, message] of [
  [
    change('package.json', '"version": "0.1.0"', '"version": "1"'),
    /^package\.json: the version must be a semantic version such as 1\.2\.3, not "1"$/,
  ],
  [change('package.json', /^/, 'x'), /package\.json: /],
  [
    change('manifests/kustomization.yaml', /^/, 'namePrefix: a-\n'),
    /kustomization\.yaml: plat package does not read namePrefix: write what it does/,
  ],
  [
    change('manifests/kustomization.yaml', '  - deployment.yaml\n', ''),
    /^the manifests must have one Deployment with a container, .* not 0$/,
  ],
  [change('manifests/kustomization.yaml', 'rights.yaml', 'none.yaml'), /none\.yaml: there is no such file or folder$/],
  [
    change('manifests/rights.yaml', /$/, '---\n{apiVersion: batch/v1, kind: Job, metadata: {name: a}}\n'),
    /^a bundle cannot have Job a: leave olm out of --format$/,
  ],
  [
    change('manifests/rights.yaml', /kind: ClusterRole\nmetadata:\n {2}name: backups/, 'kind: ClusterRole\nmetadata:\n  name: others'),
    /^the ClusterRole backups of the binding backups is not among the manifests: leave olm out of --format$/,
  ],
] as const)
  test(`a project is not packaged where ${String(message)}`, t => {
    const {folder, text, write} = aProject();
    write(path, text(path).replace(from, to));

    t.throws(() => filesOf(folder), {message});
  });

for (const [choices, message] of [
  [{version: 'v1.2.3', image}, /^--version must be a semantic version such as 1\.2\.3, not "v1\.2\.3"$/],
  [{version: '', image: 'a b'}, /^--image must be an image such as registry\.example\.com\/backups:1\.2\.3, not "a b"$/],
  [{version: '', image: 'a@b'}, /^--image must be an image/],
] as const)
  test(`a choice is refused that ${String(message)}`, t => {
    t.throws(() => operatorProject(shared.folder, choices), {message});
  });

const helm = spawnSync('helm', ['version', '--short']).error ? undefined : 'helm';
if (!helm) console.log('skipped: Helm itself checks charts only where helm is installed');

(helm ? test : test.skip)('Helm accepts the chart, and renders what the other tests look at', t => {
  const {files} = shared;
  const folder = aDirectory();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), {recursive: true});
    writeFileSync(join(folder, name), text);
  }
  const chart = join(folder, 'chart');
  const sorted = (objects: readonly Fields[]) => [...objects].sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));

  execFileSync('helm', ['lint', '--strict', chart]);
  const output = execFileSync('helm', ['template', 'one', chart, '--namespace=elsewhere'], {encoding: 'utf8'});
  t.deepEqual(sorted(objectsOf(output)), sorted(rendered(files)));
});
