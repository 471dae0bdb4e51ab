import {readFile} from 'node:fs/promises';
import {kinds} from '#src/api/kinds/index.js';
import {unlessMissing} from '#src/client/missing.js';
import {systemClock} from '#src/base/clock.js';
import type {Client} from '#src/client/client.js';
import {
  clusterInfoKey,
  clusterInfoName,
  isTokenId,
  parseToken,
  tokenIdPattern,
  tokenPattern,
  tokenSecretName,
} from '#src/model/bootstrap-token.js';
import type {tokenFlags} from '#src/options/programs/client.js';
import {yamlText} from '#src/schema/encode/yaml-text.js';
import {commandClient, type CommandClient} from '#src/cli/program/command-client.js';
import {oneLine, type Invocation} from '#src/program/program.js';
import {subcommandOf} from '#src/cli/program/subcommand.js';
import {createToken, generateToken} from './create.js';
import {bootstrapKubeconfig, clusterOf, discover, hashProblem, publicKeyHash} from './discover.js';
import {listTokens, tokenObject, tokenTable} from './list.js';

type TokenInvocation = Invocation<(typeof tokenFlags)['rows']>;

/** `plat token`: manages bootstrap tokens, with the commands and the output of kubeadm. */
export const runToken = async (invocation: TokenInvocation): Promise<number> => {
  const [command, ...args] = invocation.parsed.args;
  const run = subcommandOf(commands, command);
  return run(invocation, args);
};

type Command = (invocation: TokenInvocation, args: readonly string[]) => Promise<number>;

const atMost = (most: number, args: readonly string[]): void => {
  if (args.length > most) throw new Error(`unexpected argument ${JSON.stringify(args[most])}`);
};

const create: Command = async ({parsed: {options}, print, version}, args) => {
  atMost(1, args);
  const {ttl: ttlMs, usages, groups, description, printJoinCommand} = options;
  const token = args[0] ?? generateToken();
  await using connection = await commandClient(options, version);
  await createToken(connection.client, token, {ttlMs, usages, groups, description}, systemClock.now());
  print(printJoinCommand ? await joinCommand(connection, token) : token);
  return 0;
};

/**
 * Returns the command that a node runs to get its first kubeconfig. The server is the one that the cluster publishes.
 */
const joinCommand = async ({client, server, ca}: CommandClient, token: string): Promise<string> => {
  const published = await publishedCluster(client);
  const authority = published?.ca ?? (ca && ('data' in ca ? ca.data : await readFile(ca.file, 'utf8')));
  const host = (published?.server ?? server).replace(/^https:\/\//, '').replace(/\/$/, '');
  const trust = authority ? `--discovery-token-ca-cert-hash ${publicKeyHash(authority)}` : '--discovery-token-unsafe-skip-ca-verification';
  return `plat token discover ${host} --token ${token} ${trust} > bootstrap.kubeconfig`;
};

const publishedCluster = async (client: Client) => {
  const namespace = client.naming.publicNamespace;
  const {data} = (await unlessMissing(client.resource(kinds.configMaps).get(clusterInfoName, {namespace}))) ?? {};
  const content = data?.[clusterInfoKey(client.naming)];
  return content === undefined ? undefined : clusterOf(content);
};

const list: Command = async ({parsed: {options}, print, version}, args) => {
  atMost(0, args);
  await using connection = await commandClient(options, version);
  const {client} = connection;
  const {tokens, problems} = await listTokens(client);
  const objects = tokens.map(token => tokenObject(token, client.naming));
  if (options.output === 'json') for (const object of objects) print(JSON.stringify(object, undefined, 4));
  else if (options.output === 'yaml')
    print(
      objects
        .map(object => yamlText(object))
        .join('---\n')
        .trimEnd(),
    );
  else for (const line of tokenTable(tokens, systemClock.now())) print(line);
  for (const problem of problems) process.stderr.write(`plat token: ${problem}\n`);
  return 0;
};

const remove: Command = async ({parsed: {options}, print, version}, args) => {
  if (args.length === 0) throw new Error('one or more tokens, or their ids, must be named');
  const ids = args.map(arg => {
    const id = isTokenId(arg) ? arg : parseToken(arg)?.id;
    if (id === undefined) throw new Error(`${JSON.stringify(arg)} is neither a token id, ${tokenIdPattern}, nor a token, ${tokenPattern}`);
    return id;
  });
  await using connection = await commandClient(options, version);
  const {client} = connection;
  let failed = false;
  for (const id of ids) {
    try {
      await client.resource(kinds.secrets).delete(tokenSecretName(id), {namespace: client.naming.systemNamespace});
      print(`bootstrap token ${JSON.stringify(id)} deleted`);
    } catch (error) {
      failed = true;
      process.stderr.write(`plat token: failed to delete bootstrap token ${JSON.stringify(id)}: ${oneLine(error)}\n`);
    }
  }
  return failed ? 1 : 0;
};

const generate: Command = async ({print}, args) => {
  atMost(0, args);
  print(generateToken());
  return 0;
};

const discoverCluster: Command = async ({parsed: {options}, print, version, stopping: signal}, args) => {
  const [server] = args;
  atMost(1, args);
  const {token, discoveryTokenCaCertHash: hashes, discoveryTokenUnsafeSkipCaVerification: isUnsafe, naming, timeout: timeoutMs} = options;
  if (!server) throw new Error('the server must be named, as host:port');
  if (!token) throw new Error('--token is required');
  const problem = hashProblem(hashes);
  if (problem !== undefined) throw new Error(problem);
  if (hashes.length === 0 && !isUnsafe)
    throw new Error('--discovery-token-ca-cert-hash is required, or --discovery-token-unsafe-skip-ca-verification');
  const userAgent = `plat/${version.gitVersion}`;
  const cluster = await discover({server, token, hashes, naming, timeoutMs, userAgent, clock: systemClock, signal});
  print(bootstrapKubeconfig(cluster, token).trimEnd());
  return 0;
};

const commands: Readonly<Record<string, Command>> = {create, list, delete: remove, generate, discover: discoverCluster};
