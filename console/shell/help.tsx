import {useCell} from '#page/base/cell.js';
import {letterKeys, setLetterKeys} from '#page/base/keys.js';
import {Dialog} from '#page/ui/parts.js';
import {views} from './views.js';

const keys: readonly (readonly [string, string])[] = [
  [':', 'go to a kind, by name or short name'],
  ['/', 'filter'],
  ['j k', 'down, up; on, back in reconciles'],
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
  const areOn = useCell(letterKeys);
  return (
    <Dialog title="Keys" close={close}>
      <label>
        <input type="checkbox" checked={areOn} onChange={event => setLetterKeys(event.currentTarget.checked)} /> Letters and signs act
      </label>
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
