// Renders the head of a page: an icon, the state in a title and one sentence, and at most two buttons.
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { lockOf, type Span, type Status } from '../../../view/form.ts';
import { fractionLeft } from '../../../view/states/changes.ts';
import { useApp } from '../../app.ts';
import { Icon } from '../icon.tsx';
import { Buttons, Menu } from './menu.tsx';

/** @param alone true if the page has nothing else */
export function StatusView({ status, alone }: { status: Status; alone: boolean }) {
  const { host, tr } = useApp();
  const { _ } = tr.value;
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const held = box.current?.contains(document.activeElement);
  useLayoutEffect(() => {
    // the button that had the focus is gone
    if (held && document.activeElement === document.body) box.current?.querySelector('button')?.focus();
  });
  useLayoutEffect(
    () => () => {
      // the page shows its list instead
      if (box.current?.contains(document.activeElement))
        document.querySelector<HTMLElement>('main .toolbar input')?.focus();
    },
    [],
  );
  const { icon, tone, title, sentence, line, buttons, menu, span, waiting, details } = status;
  const hasButtons = buttons.length > 0 || (menu && menu.length > 0);
  const said = waiting ?? lockOf(status);
  return (
    <section class={`hero tone-${tone}${alone ? ' alone' : ''}`}>
      <div class="disc">
        <Icon name={icon} />
        {span && <Ring span={span} />}
      </div>
      <div role="status">
        <h2 class="state">{title}</h2>
        <p class="sentence" id={id}>
          {sentence}
        </p>
      </div>
      {(line || (hasButtons && line !== undefined)) && <p class="now">{line}</p>}
      {hasButtons && (
        <div class="buttons" ref={box}>
          <Buttons buttons={buttons} why={said === null ? id : `${id}-why`} />
          {menu && menu.length > 0 && <Menu entries={() => menu} name={title} />}
        </div>
      )}
      {waiting !== undefined && (said !== null || !details) && (
        <p class="subtitle waiting" role="status" id={`${id}-why`}>
          {said}
        </p>
      )}
      {details && (
        <details>
          <summary>{_('Technical details')}</summary>
          <pre>{details}</pre>
          <button type="button" class="small" onClick={() => void host.copy(details)}>
            {_('Copy')}
          </button>
        </details>
      )}
    </section>
  );
}

/** A separate component, since it updates each second. */
function Ring({ span }: { span: Span }) {
  const left = fractionLeft(span, useApp().now.value);
  return (
    <svg class="ring" viewBox="0 0 100 100" aria-hidden="true" focusable="false">
      <circle cx="50" cy="50" r="47" />
      {left > 0 && (
        <circle
          class="left"
          cx="50"
          cy="50"
          r="47"
          pathLength="100"
          stroke-dasharray={`${(100 * left).toFixed(2)} 100`}
        />
      )}
    </svg>
  );
}
