import {Dialog} from '#page/ui/parts.js';
import {views} from './views.js';

const keys: readonly (readonly [string, string])[] = [
  [':', 'go to a kind, by name or short name'],
  ['/', 'filter'],
  ['j k', 'down, up'],
  ['Enter', 'open'],
  ['Esc', 'back, or close'],
  ['n', 'choose the namespace'],
  ['e', 'edit the object'],
  ['d', 'delete the object'],
  ['l x', 'logs, exec of a pod'],
  ['b', 'back to now, from a moment that is past'],
  ['t', 'light, dark, or as the system'],
  ['?', 'this help'],
];

export function Help({close}: {close(): void}) {
  return (
    <Dialog title="Keys" close={close}>
      <dl class="keys">
        {[...views.map(({key, title}) => [`g ${key}`, title] as const), ...keys].map(([key, text]) => (
          <div key={key}>
            <dt>
              {key.split(' ').map(one => (
                <kbd key={one}>{one}</kbd>
              ))}
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
