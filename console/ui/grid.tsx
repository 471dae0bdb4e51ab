// A table of any length: only the rows in view are in the page.

import type {ComponentChildren} from 'preact';
import {useEffect, useLayoutEffect, useRef, useState} from 'preact/hooks';
import {useKeys} from '#page/base/keys.js';

export interface GridColumn<R> {
  readonly name: string;
  readonly title?: string | undefined;
  /** The width in characters. */
  readonly width: number;
  readonly isNumber?: boolean;
  cell(row: R): ComponentChildren;
}

export interface GridProps<R> {
  readonly label: string;
  readonly columns: readonly GridColumn<R>[];
  readonly rows: readonly R[];
  keyOf(row: R): string;
  open?(row: R): void;
  hrefOf?(row: R): string;
  readonly sorted?: {readonly by: string; readonly isDown: boolean} | undefined;
  sort?(by: string): void;
  readonly empty?: ComponentChildren;
  /** Keys for the selected row, besides those of moving. */
  readonly keys?: Readonly<Record<string, (row: R) => void>>;
  classOf?(row: R): string;
}

export const rowHeight = 28;
const spare = 8;

/** Shows rows and moves through them by keys: j, k, Home, End, PageUp, PageDown and Enter. */
export function Grid<R>({label, columns, rows, keyOf, open, hrefOf, sorted, sort, empty, keys = {}, classOf}: GridProps<R>) {
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({top: 0, height: 600});
  const [selected, setSelected] = useState<string>();
  const at = selected === undefined ? -1 : rows.findIndex(row => keyOf(row) === selected);

  useLayoutEffect(() => {
    const element = scroller.current!;
    const measure = () => setView({top: element.scrollTop, height: element.clientHeight});
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const select = (index: number): void => {
    const row = rows[Math.max(0, Math.min(rows.length - 1, index))];
    if (!row) return;
    setSelected(keyOf(row));
    const element = scroller.current!;
    // Otherwise Enter would open the row with the focus instead of the selected one.
    if (element.contains(document.activeElement)) element.focus({preventScroll: true});
    const top = rows.indexOf(row) * rowHeight;
    const visible = element.clientHeight - rowHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowHeight > element.scrollTop + visible) element.scrollTop = top + rowHeight - visible;
  };
  const page = Math.max(1, Math.floor(view.height / rowHeight) - 2);
  const onSelected = Object.fromEntries(Object.entries(keys).map(([key, act]) => [key, () => at >= 0 && act(rows[at]!)]));
  useKeys({
    j: () => select(at + 1),
    k: () => select(at < 0 ? 0 : at - 1),
    ArrowDown: () => select(at + 1),
    ArrowUp: () => select(at < 0 ? 0 : at - 1),
    Home: () => select(0),
    End: () => select(rows.length - 1),
    PageDown: () => select(at + page),
    PageUp: () => select(at - page),
    Enter: event => {
      if (event.target instanceof HTMLAnchorElement || event.target instanceof HTMLButtonElement) (event.target as HTMLElement).click();
      else if (at >= 0) open?.(rows[at]!);
    },
    ...onSelected,
  });
  useEffect(() => {
    if (at < 0 && selected !== undefined) setSelected(undefined);
  }, [at, selected]);

  const first = Math.max(0, Math.floor(view.top / rowHeight) - spare);
  const shown = rows.slice(first, first + Math.ceil(view.height / rowHeight) + 2 * spare);
  const template = columns.map(({width}, index) => (index === columns.length - 1 ? `minmax(${width}ch, 1fr)` : `${width}ch`)).join(' ');
  return (
    <div
      class="grid"
      ref={scroller}
      tabIndex={0}
      role="table"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      onScroll={event => setView({top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight})}
    >
      <div class="grid-head" role="row" style={{gridTemplateColumns: template}}>
        {columns.map(({name, title, isNumber}) => (
          <div
            role="columnheader"
            class={isNumber ? 'number' : ''}
            title={title}
            key={name}
            aria-sort={sorted?.by === name ? (sorted.isDown ? 'descending' : 'ascending') : 'none'}
          >
            {sort ? (
              <button type="button" class="plain" onClick={() => sort(name)}>
                {name}
                <span aria-hidden="true">{sorted?.by === name ? (sorted.isDown ? ' ▾' : ' ▴') : ''}</span>
              </button>
            ) : (
              name
            )}
          </div>
        ))}
      </div>
      {rows.length === 0 ? <div class="empty">{empty}</div> : null}
      <div class="grid-body" style={{height: `${rows.length * rowHeight}px`}}>
        <div style={{transform: `translateY(${first * rowHeight}px)`}}>
          {shown.map((row, index) => {
            const key = keyOf(row);
            return (
              <div
                role="row"
                key={key}
                aria-rowindex={first + index + 2}
                aria-selected={key === selected}
                class={`grid-row ${key === selected ? 'selected' : ''} ${classOf?.(row) ?? ''}`}
                style={{gridTemplateColumns: template}}
                onClick={event => {
                  setSelected(key);
                  if (!(event.target as Element).closest('a, button')) open?.(row);
                }}
              >
                {columns.map((column, index) => (
                  <div role="cell" key={column.name} class={column.isNumber ? 'number' : ''}>
                    {index === 0 && hrefOf ? <a href={hrefOf(row)}>{column.cell(row)}</a> : column.cell(row)}
                  </div>
                ))}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}
