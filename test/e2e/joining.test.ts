import {execFile, execFileSync} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {promisify} from 'node:util';
import test from 'ava';
import {startPlane} from '#src/plane/plane.js';
import {createToken} from '#src/cli/token/create.js';
import {eventually} from '#test/cli/eventually.js';

// A node joins with nothing but a token, openssl and curl: as kubeadm does, and nothing of plat takes part on its side.

const has = (program: string): boolean => {
  try {
    execFileSync(program, [program === 'openssl' ? 'version' : '--version'], {stdio: 'ignore'});
    return true;
  } catch {
    return false;
  }
};
const tools = ['openssl', 'curl'];
const missing = tools.filter(tool => !has(tool));
if (missing.length > 0) console.log(`${missing.join(' and ')} not installed: joining is not tried with them`);
const withTools = missing.length > 0 ? test.skip : test;

const folder = mkdtempSync(join(tmpdir(), 'plat-joining-'));
test.after.always(() => rmSync(folder, {recursive: true, force: true}));
const file = (name: string, content?: string | Buffer): string => {
  const path = join(folder, name);
  if (content !== undefined) writeFileSync(path, content);
  return path;
};

const run = async (program: string, ...args: string[]): Promise<string> => (await promisify(execFile)(program, args)).stdout;
const curl = (...args: string[]) => run('curl', '--silent', '--show-error', ...args);

interface Status {
  readonly conditions?: readonly {readonly type: string; readonly reason: string}[];
  readonly certificate?: string;
}

withTools('a node joins with a token, openssl and curl alone', async t => {
  await using plane = await startPlane({bootstrapTokens: true});
  const token = {id: 'abcdef', secret: '0123456789abcdef'};
  const text = `${token.id}.${token.secret}`;
  await createToken(
    plane.client(),
    text,
    {ttlMs: 3_600_000, usages: ['signing', 'authentication'], groups: [], description: ''},
    Date.now(),
  );
  const caHash = await publicKeyHash(file('trusted.crt', clusterOf(plane.kubeconfig).ca));

  // Discovery: anonymous, over a connection that is not verified. The token's signature and the hash of the CA make up
  // for it.
  const url = `${plane.url}/api/v1/namespaces/kube-public/configmaps/cluster-info`;
  const data = await eventually(async () => {
    const found = (JSON.parse(await curl('--insecure', url)) as {data: Record<string, string>}).data;
    return found[`jws-kubeconfig-${token.id}`] ? found : undefined;
  });
  const kubeconfig = data['kubeconfig']!;
  const [header = '', , signature] = data[`jws-kubeconfig-${token.id}`]!.split('.');
  t.deepEqual(JSON.parse(Buffer.from(header, 'base64url').toString()), {alg: 'HS256', kid: token.id});
  const signed = file('signed', `${header}.${Buffer.from(kubeconfig).toString('base64url')}`);
  const digest = await run('openssl', 'dgst', '-sha256', '-mac', 'HMAC', '-macopt', `key:${token.secret}`, '-hex', signed);
  t.is(digest.trim().split(' ').at(-1), Buffer.from(signature!, 'base64url').toString('hex'));
  const {server, ca: pem} = clusterOf(kubeconfig);
  t.is(server, plane.url);
  const ca = file('ca.crt', pem);
  t.is(await publicKeyHash(ca), caHash);
  t.is((JSON.parse(await curl('--cacert', ca, url)) as {data: Record<string, string>}).data['kubeconfig'], kubeconfig);

  // The certificate: requested with the token, approved and signed by the control plane.
  const key = file('node.key');
  await run('openssl', 'ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', key);
  const request = await run('openssl', 'req', '-new', '-key', key, '-subj', '/O=system:nodes/CN=system:node:joined');
  const requests = `${server}/apis/certificates.k8s.io/v1/certificatesigningrequests`;
  const csr = {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: {name: 'joined'},
    spec: {
      request: Buffer.from(request).toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      usages: ['digital signature', 'client auth'],
    },
  };
  const withToken = ['--cacert', ca, '--header', `Authorization: Bearer ${text}`];
  const json = ['--header', 'Content-Type: application/json', '--data', '@-'];
  await curl(...withToken, ...json.slice(0, 2), '--data', `@${file('csr.json', JSON.stringify(csr))}`, requests);
  const status = await eventually(async () => {
    const found = JSON.parse(await curl(...withToken, `${requests}/joined`)) as {status: Status};
    return found.status.certificate ? found.status : undefined;
  });
  t.deepEqual(
    status.conditions?.map(({type, reason}) => [type, reason]),
    [['Approved', 'AutoApproved']],
  );
  const certificate = file('node.crt', Buffer.from(status.certificate!, 'base64'));
  t.regex(await run('openssl', 'verify', '-CAfile', ca, certificate), /: OK$/m);

  // The node registers itself with the certificate, may renew it, and may do no more than a node.
  const asNode = ['--cacert', ca, '--cert', certificate, '--key', key];
  const post = async (
    path: string,
    object: object,
  ): Promise<{readonly status: Status & {readonly userInfo?: object}; readonly code?: number}> =>
    JSON.parse(
      await curl(...asNode, ...json.slice(0, 2), '--data', `@${file('body.json', JSON.stringify(object))}`, `${server}${path}`),
    ) as never;
  const node = await post('/api/v1/nodes', {apiVersion: 'v1', kind: 'Node', metadata: {name: 'joined'}});
  t.is(node.code, undefined);
  t.is((await post('/api/v1/nodes', {apiVersion: 'v1', kind: 'Node', metadata: {name: 'another'}})).code, 403);
  await post('/apis/certificates.k8s.io/v1/certificatesigningrequests', {...csr, metadata: {name: 'renewed'}});
  await eventually(async () => {
    const found = JSON.parse(await curl(...asNode, `${requests}/renewed`)) as {status: Status};
    return found.status.certificate;
  });

  // Without the token there is nothing but the config map, and an expired token is refused.
  t.is((JSON.parse(await curl('--cacert', ca, `${server}/api/v1/namespaces/kube-public/configmaps`)) as {code: number}).code, 403);
  t.is((JSON.parse(await curl('--cacert', ca, `${server}/api/v1/namespaces/kube-system/secrets`)) as {code: number}).code, 403);
  const other = ['--cacert', ca, '--header', 'Authorization: Bearer abcdef.0123456789abcdeg'];
  t.is((JSON.parse(await curl(...other, requests)) as {code: number}).code, 401);
});

const clusterOf = (kubeconfig: string): {readonly server: string; readonly ca: string} => ({
  server: /^\s*server: (.*)$/m.exec(kubeconfig)![1]!,
  ca: Buffer.from(/certificate-authority-data: (.*)$/m.exec(kubeconfig)![1]!, 'base64').toString(),
});

/** The hash of a CA's public key, made by openssl as kubeadm's documentation does it. */
const publicKeyHash = async (ca: string): Promise<string> => {
  const publicKey = file('ca.pub', await run('openssl', 'x509', '-pubkey', '-noout', '-in', ca));
  const der = file('ca.der');
  await run('openssl', 'pkey', '-pubin', '-in', publicKey, '-outform', 'der', '-out', der);
  return (await run('openssl', 'dgst', '-sha256', '-hex', der)).trim().split(' ').at(-1)!;
};
