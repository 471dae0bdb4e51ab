import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {naming} from '#src/api/naming.js';
import {parseStoreFlags, serveStandIn, storeHelp} from './envtest/store.js';
import {oneLine} from '#src/program/program.js';

const program = naming('kubernetes').storeProgram;

const main = async (argv: readonly string[]): Promise<void> => {
  if (argv.some(argument => /^--?h(elp)?$/.test(argument))) return void process.stdout.write(storeHelp(program));
  const given = parseStoreFlags(argv);
  const own = given['data-dir'] === undefined ? mkdtempSync(join(tmpdir(), 'plat-envtest-')) : undefined;
  const servers = await serveStandIn(given, own ?? '');
  process.stderr.write(`${program}: ready\n`);
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.once(signal, () => {
      for (const server of servers) server.close();
      if (own !== undefined) rmSync(own, {recursive: true, force: true});
      process.exit(0);
    });
};

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${program}: ${oneLine(error)}\n`);
  process.exit(1);
});
