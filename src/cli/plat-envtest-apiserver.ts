import {naming} from '#src/api/naming.js';
import {helpText} from '#src/options/help.js';
import {apiserverFlags} from '#src/options/programs/apiserver.js';
import {ownArguments, withOriginalFlags} from './envtest/arguments.js';
import {planeArguments, serverArguments} from './envtest/programs.js';
import {oneLine, runProgram} from '#src/program/program.js';

/** The API server as test environments start it; with PLAT_ENVTEST_CONTROLLERS=1 a whole plane. */
const main = async (argv: readonly string[]): Promise<void> => {
  if (argv.includes('--help') || argv.includes('-h')) {
    process.stdout.write(withOriginalFlags(helpText({...apiserverFlags, program: naming('kubernetes').component('apiserver')} as never)));
    return;
  }
  const own = ownArguments(argv);
  if (process.env['PLAT_ENVTEST_CONTROLLERS'] !== '1')
    return runProgram(apiserverFlags, await serverArguments(own), async invocation =>
      (await import('./apiserver.js')).runApiServer(invocation),
    );
  const {upFlags} = await import('#src/options/programs/up.js');
  return runProgram(upFlags, await planeArguments(own), async invocation => {
    const [{runUp}, {unlisted}] = await Promise.all([import('./up/up.js'), import('./up/name.js')]);
    return runUp(invocation, async name => unlisted(name)); // A test's plane is of no interest to others.
  });
};

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${naming('kubernetes').component('apiserver')}: ${oneLine(error)}\n`);
  process.exit(1);
});
