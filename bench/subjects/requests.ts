import {writeFileSync} from 'node:fs';
import https from 'node:https';
import type {AddressInfo} from 'node:net';
import {join} from 'node:path';
import {systemClock} from '#src/base/clock.js';
import {planeMaterial} from '#src/plane/inputs/material.js';
import {planeServingCertificate} from '#src/plane/api-server/serving-certificate.js';
import {naming} from '#src/api/naming.js';
import {resultOf} from '#bench/load/child.js';
import type {Load, Loaded} from '#bench/load/load.js';
import {type Row, row} from '#bench/run/row.js';
import {caller, scratch, startPlane, type Running} from '#bench/load/programs.js';

const headers = {accept: 'application/json', 'content-type': 'application/json', 'user-agent': 'bench'};

export const measured = async (load: Omit<Load, 'version' | 'headers' | 'warmupMs' | 'measureMs'>): Promise<number> => {
  const full: Load = {...load, version: 'HTTP/1.1', headers, warmupMs: 1500, measureMs: 4000};
  return Math.round((await resultOf<Loaded>('load.js', full)).perSecond);
};

/** A plain TLS server with the plane's certificates that always returns the same bytes. */
const bare = async ({directory}: Running, bytes: Buffer): Promise<{url: string; close(): void}> => {
  const {authority} = await planeMaterial(`${directory}/pki`, systemClock);
  const tls = await planeServingCertificate(authority, {clock: systemClock, naming: naming('kubernetes'), hosts: []});
  const fields = {'content-type': 'application/json', 'content-length': String(bytes.length)};
  const server = https.createServer({...tls, requestCert: true, rejectUnauthorized: false}, (request, response) => {
    request.resume();
    request.once('end', () => response.writeHead(200, fields).end(bytes));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return {url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close()};
};

const filler = 'x'.repeat(1200);
export const collection = '/api/v1/namespaces/default/configmaps';
export const configMap = (name: string) => ({apiVersion: 'v1', kind: 'ConfigMap', metadata: {name}, data: {filler}});

/** Requests per second, compared with a plain server, with the same client, bytes and certificates. */
export const requestRows = async (): Promise<Row[]> => {
  const rows: Row[] = [];
  const plane = await startPlane();
  const call = caller(plane);
  await call('POST', collection, configMap('one'));
  const one = Buffer.from((await call('GET', `${collection}/one`)).text);
  const plain = await bare(plane, one);
  const get = {...plane.pki, path: `${collection}/one`, clients: 64};
  const getBaseline = await measured({...get, url: plain.url});
  rows.push(
    row('GET one object', await measured({...get, url: plane.url}), '/s', {
      baseline: getBaseline,
      note: `RBAC on, ${one.length} bytes, 64 clients, beside a bare TLS server`,
    }),
  );

  const post = {...plane.pki, path: collection, clients: 64, method: 'POST', body: JSON.stringify(configMap('NAME'))};
  const postBaseline = await measured({...post, url: plain.url});
  rows.push(
    row('create, durable', await measured({...post, url: plane.url}), '/s', {
      baseline: postBaseline,
      note: 'RBAC on, embedded store, 64 clients',
    }),
  );
  plain.close();
  rows.push(await auditRow());

  rows.push(await listRow(plane));
  await plane.stop();
  return rows;
};

const auditPolicy = 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n';

/**
 * Creates with and without audit, by two servers that are equally warm, measured in turns so that both find the same
 * machine.
 */
const auditRow = async (): Promise<Row> => {
  const directory = await scratch();
  const policy = join(directory, 'policy.yaml');
  writeFileSync(policy, auditPolicy);
  const flags = {'audit-policy-file': policy, 'audit-log-path': join(directory, 'audit.log')};
  const audited = await startPlane(
    directory,
    Object.entries(flags).map(([flag, value]) => `--apiserver-arg=--${flag}=${value}`),
  );
  const plane = await startPlane();
  const rates = {without: 0, with: 0};
  const rounds = 3;
  const body = JSON.stringify(configMap('NAME'));
  // The first round is not counted: the code is compiled while it runs.
  for (let round = 0; round <= rounds; round++) {
    for (const [which, {url, pki}] of [
      ['without', plane],
      ['with', audited],
    ] as const) {
      const rate = await measured({...pki, url, path: collection, clients: 64, method: 'POST', body});
      if (round > 0) rates[which] += rate / rounds;
    }
  }
  await audited.stop();
  await plane.stop();
  return row('create, audited at level Metadata', rates.with, '/s', {
    baseline: rates.without,
    note: `two events a request to a file, in blocking mode; beside creates without audit, ${rounds} turns each`,
  });
};

const listRow = async (plane: Running): Promise<Row> => {
  const call = caller(plane);
  await call('POST', '/api/v1/namespaces', {apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'many'}});
  const path = '/api/v1/namespaces/many/configmaps';
  for (let i = 0; i < 10_000; i += 200) {
    await Promise.all(Array.from({length: 200}, (_, n) => call('POST', path, configMap(`item-${i + n}`))));
  }
  const bytes = Buffer.from((await call('GET', path)).text);
  const plain = await bare(plane, bytes);
  const load = {...plane.pki, path, clients: 1};
  const baseline = 1000 / (await precise({...load, url: plain.url}));
  const value = 1000 / (await precise({...load, url: plane.url}));
  plain.close();
  return row('LIST 10,000 objects', value, 'ms', {
    baseline,
    note: `${Math.round(bytes.length / 1e6)} MB, one client; the ratio is time over time`,
  });
};

const precise = async (load: Omit<Load, 'version' | 'headers' | 'warmupMs' | 'measureMs'>): Promise<number> => {
  const full: Load = {...load, version: 'HTTP/1.1', headers, warmupMs: 1000, measureMs: 8000};
  return (await resultOf<Loaded>('load.js', full)).perSecond;
};
