// A process of its own: prints, as JSON, the files of the product that one POST of a config map enters over HTTP/2.
// What runs in some of many such requests and not in each is not theirs: what the start has set off may take a while.

import {once} from 'node:events';
import {connect, type ClientHttp2Session} from 'node:http2';
import {Session} from 'node:inspector/promises';
import {startPlane} from '#src/testing/index.js';

const warmUps = 20;
const measured = 40;

const field = (kubeconfig: string, name: string): Buffer => Buffer.from(new RegExp(`${name}: (\\S+)`).exec(kubeconfig)![1]!, 'base64');

let created = 0;
const post = async (session: ClientHttp2Session): Promise<void> => {
  const stream = session.request({
    ':method': 'POST',
    ':path': '/api/v1/namespaces/default/configmaps',
    'content-type': 'application/json',
    accept: 'application/json',
  });
  stream.end(JSON.stringify({apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: `c-${created++}`}, data: {a: 'b'}}));
  const [headers] = (await once(stream, 'response')) as [{readonly ':status': number}];
  if (headers[':status'] !== 201) throw new Error(`the config map was answered with ${headers[':status']}`);
  stream.resume();
  await once(stream, 'close');
};

/** The files below `dist/src` of which a function has run since the last call. */
const enteredFiles = async (inspector: Session): Promise<Set<string>> => {
  const {result} = await inspector.post('Profiler.takePreciseCoverage');
  const entered = result.filter(({functions}) => functions.some(({ranges}) => ranges[0]!.count > 0));
  return new Set(entered.flatMap(({url}) => /\/dist\/src\/(.+)$/.exec(url)?.[1] ?? []));
};

// Without what observes requests, as plat-apiserver is by default.
const plane = await startPlane({controllers: 'none', record: false});
const {kubeconfig} = plane;
const session = connect(plane.url, {
  ca: field(kubeconfig, 'certificate-authority-data'),
  cert: field(kubeconfig, 'client-certificate-data'),
  key: field(kubeconfig, 'client-key-data'),
});
for (let time = 0; time < warmUps; time++) await post(session);
const inspector = new Session();
inspector.connect();
await inspector.post('Profiler.enable');
await inspector.post('Profiler.startPreciseCoverage', {callCount: true, detailed: false});
const samples: Set<string>[] = [];
await enteredFiles(inspector);
for (let time = 0; time < measured; time++) {
  await post(session);
  samples.push(await enteredFiles(inspector));
}
const [first, ...others] = samples;
console.log(JSON.stringify([...first!].filter(file => others.every(sample => sample.has(file))).sort()));
session.destroy();
await plane.stop();
