import {controllerNames} from '#src/options/controller-names.js';
import {naming as namingOf} from '#src/api/naming.js';
import {flagsOf, serviceAccountOf, type Controller} from '#src/runtime/controller.js';
import {controllers} from './index.js';

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

const code = (words: readonly string[]): string => words.map(word => `\`${word}\``).join(', ') || '-';

const accountsOf = (controller: Controller | undefined): readonly string[] => {
  const account = controller && serviceAccountOf(controller, namingOf('plat'));
  return account ? [account] : [];
};

/** Returns the reference page of controllers: one row for each upstream controller, implemented or not. */
export const controllersReference = (): string => {
  const built = new Map(controllers.map(controller => [controller.name, controller]));
  const rows = controllerNames.map(({name, aliases = [], offByDefault, gates = [], cloud}) => {
    const controller = built.get(name);
    const conditions = [...(gates.length > 0 ? [`needs ${code(gates)}`] : []), ...(cloud ? ['needs a cloud provider'] : [])];
    return row([
      `\`${name}\``,
      code(aliases),
      [offByDefault ? 'off' : 'on', ...conditions].join(', '),
      controller?.doc ?? 'Not built yet.',
      code(controller ? flagsOf(controller).map(flag => `--${flag}`) : []),
      code(accountsOf(controller)),
    ]);
  });
  return [
    '# Controllers',
    '',
    'Made by `make docs` from `controllers/index.ts` and `src/options/controller-names.ts`; do not edit. `--controllers` accepts names and aliases: `*` enables all controllers that are on by default,',
    '`name` enables a controller, `-name` disables it, and the first item that names a controller applies.',
    'A controller uses the service account in the last column, in the system namespace, with the role `system:controller:<account>`; without one it uses the identity of the controller manager.',
    '',
    row(['Controller', 'Aliases', 'Default', 'What it does', 'Flags', 'Acts as']),
    row(Array.from({length: 6}, () => '---')),
    ...rows,
    '',
  ].join('\n');
};
