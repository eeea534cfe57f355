"""How mail programs announce a quotation, a forwarded mail and themselves, in seventeen languages.

Tables only; ``quotes.py`` reads them. All entries are in lower case.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from gateway.engine.struct import struct

__all__ = [
    "ATTRIBUTIONS",
    "DAYS",
    "DEVICES",
    "FORWARDED",
    "FORWARD_PREFIXES",
    "LABELS",
    "MOBILE",
    "ORIGINAL",
    "Attribution",
    "Label",
]

Label = Literal["from", "date", "to", "cc", "subject"]


@struct(frozen=True, slots=True)
class Attribution:
    """The line above a quotation: how it may begin, the verb before its colon, and the verb that stands
    in the middle of it (with its spaces)."""

    starts: tuple[str, ...]
    ends: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()


ATTRIBUTIONS: Mapping[str, Attribution] = {
    "en": Attribution(("on ",), ("wrote", "writes", "said")),
    "de": Attribution(("am ", "an "), ("schrieb", "geschrieben"), (" schrieb ",)),
    "fr": Attribution(("le ",), ("a écrit",)),
    "es": Attribution(("el ",), ("escribió", "escribio")),
    "it": Attribution(("il ", "in data "), ("ha scritto",)),
    "pt": Attribution(("em ", "no dia ", "a "), ("escreveu",)),
    "nl": Attribution(
        ("op ",), ("schreef", "het volgende geschreven", "geschreven"), (" schreef ",)
    ),
    "pl": Attribution(
        ("w dniu ", "dnia "), ("napisał(a)", "napisał/a", "napisał", "napisała", "pisze")
    ),
    "sv": Attribution(("den ",), ("skrev", "följande"), (" skrev ",)),
    "da": Attribution(("den ",), ("skrev", "følgende"), (" skrev ",)),
    "no": Attribution(("den ", "på "), ("skrev", "følgende"), (" skrev ",)),
    "cs": Attribution(("dne ",), ("napsal(a)", "napsal/a", "napsal", "napsala")),
    "ru": Attribution(
        ("от ",), ("написал(а)", "написал", "написала", "пишет", "писал(а)", "писали")
    ),
    "uk": Attribution(("від ",), ("написав(ла)", "написав", "написала", "пише", "писав(ла)")),
    "zh": Attribution(("",), ("写道", "寫道", "写到", "来信", "來信")),
    "ja": Attribution((), ("のメール", "が書きました", "は書きました", "wrote", "書き込みました")),
    "ko": Attribution((), ("님이 작성", "작성", "님이 쓴 글", "썼습니다")),
    "he": Attribution(("בתאריך ", "ב-", "ב־", "ביום "), ("כתב/ה", "כתבה", "כתב", "כתב(ה)")),
}

DAYS = (
    *("пн", "вт", "ср", "чт", "пт", "сб", "вс", "нд"),
    *("pon", "wt", "śr", "czw", "pt", "sob", "niedz"),
    *("po ", "út ", "st ", "čt ", "pá ", "so ", "ne "),
    *("man", "tir", "ons", "tor", "fre", "lør", "søn", "mån", "tis", "lör", "sön"),
)
"""Days of the week that such a line begins with where it has no first word of its own."""

_NAMES: Mapping[Label, str] = {
    "from": "from von de da van od från fra от від 发件人 寄件者 差出人 送信者 보낸사람 발신 מאת",
    "date": (
        "sent date gesendet gesendetam datum envoyé envoyéle enviado enviadoel fecha inviato data"
        " enviadaem enviadoem enviada verzonden wysłano wysłane skickat sendt dato odesláno"
        " отправлено дата надіслано 发送时间 发件时间 日期 时间 寄件日期 傳送時間 送信日時 日時 日付"
        " 보낸날짜 날짜 날짜및시간 נשלח תאריך"
    ),
    "to": "to an à a para aan do till til komu кому 收件人 收件者 宛先 받는사람 수신 אל",
    "cc": "cc dw kopia kopi kopie копия копія 抄送 副本 참조 עותק",
    "subject": (
        "subject betreff objet sujet asunto oggetto assunto onderwerp temat ämne emne předmět тема"
        " 主题 主題 主旨 件名 제목 נושא הנדון"
    ),
}
LABELS: Mapping[str, Label] = {
    name: label for label, names in _NAMES.items() for name in names.split()
}
"""The labels of a quoted header, without spaces."""

ORIGINAL = frozenset(
    {
        *("original message", "original appointment", "reply message"),
        *("ursprüngliche nachricht", "originalnachricht", "original-nachricht"),
        *("message d'origine", "message d’origine", "message original", "mensaje original"),
        *("messaggio originale", "mensagem original", "oorspronkelijk bericht"),
        *("origineel bericht", "oryginalna wiadomość", "wiadomość oryginalna"),
        *("ursprungligt meddelande", "originalmeddelande", "oprindelig meddelelse"),
        *("original meddelelse", "opprinnelig melding", "original melding", "původní zpráva"),
        *("původní e-mail", "исходное сообщение", "оригинальное сообщение"),
        *("оригінальне повідомлення", "вихідне повідомлення", "原始邮件", "原始郵件", "原始訊息"),
        *("元のメッセージ", "オリジナルメッセージ", "원본 메시지", "원본 메일", "הודעה מקורית"),
    }
)
"""What stands between dashes above a mail that was replied to."""

FORWARDED = frozenset(
    {
        *("forwarded message", "begin forwarded message", "start of forwarded message"),
        *("weitergeleitete nachricht", "anfang der weitergeleiteten nachricht"),
        *("message transféré", "message transmis", "début du message réexpédié"),
        *("début du message transféré", "mensaje reenviado", "inicio del mensaje reenviado"),
        *("messaggio inoltrato", "inizio messaggio inoltrato", "mensagem encaminhada"),
        *("mensagem reencaminhada", "início da mensagem encaminhada"),
        *("início da mensagem reencaminhada", "doorgestuurd bericht", "begin doorgestuurd bericht"),
        *("przekazana wiadomość", "wiadomość przekazana", "początek przekazywanej wiadomości"),
        *("vidarebefordrat meddelande", "vidarebefordrat brev", "videresendt besked"),
        *("videresendt meddelelse", "start på videresendt besked", "videresendt melding"),
        *("videresendt e-post", "start på videresendt melding", "přeposlaná zpráva"),
        *("přeposlaný e-mail", "začátek přeposlané zprávy", "пересылаемое сообщение"),
        *("пересланное сообщение", "перенаправленное сообщение"),
        *("начало переадресованного сообщения", "переслане повідомлення", "пересланий лист"),
        *("початок листа, що пересилається", "转发的邮件", "已转发邮件", "转发邮件", "轉寄的郵件"),
        *("下面是被转发的邮件", "轉寄郵件", "転送メッセージ", "転送されたメッセージ", "転送メール"),
        *("전달된 메시지", "전달한 메시지", "전달된 메일", "הודעה שהועברה", "תחילת ההודעה שהועברה"),
    }
)
"""What stands above a mail that is passed on."""

FORWARD_PREFIXES = frozenset(
    {
        *("fw", "fwd", "wg", "tr", "rv", "i", "enc", "res-enc", "doorst", "pd", "vb", "vs", "vl"),
        *("пер", "пересл", "转发", "轉寄", "轉發", "転送", "전달", "הועבר"),
    }
)
"""What the subject of a mail that is passed on begins with, before its colon."""

MOBILE = (
    *(("sent from ", ""), ("get outlook for ", ""), ("get bluemail for ", ""), ("sent with ", "")),
    *(("von meinem ", "gesendet"), ("von meiner ", "gesendet"), ("gesendet von ", "")),
    *(
        ("gesendet mit ", ""),
        ("diese nachricht wurde von meinem ", "gesendet"),
        ("outlook für ", ""),
    ),
    *(("holen sie sich outlook", ""), ("envoyé de mon ", ""), ("envoyé depuis ", "")),
    *(("envoyé à partir de ", ""), ("obtenir outlook", ""), ("télécharger outlook", "")),
    *(("enviado desde ", ""), ("enviado de mi ", ""), ("obtener outlook", ""), ("inviato da", "")),
    *(("ottieni outlook", ""), ("scarica outlook", ""), ("enviado do ", "")),
    *(("enviado a partir do ", ""), ("obter o outlook", ""), ("obtenha o outlook", "")),
    *(("verstuurd vanaf ", ""), ("verzonden vanaf ", ""), ("outlook voor ", "")),
    *(
        ("wysłane z ", ""),
        ("wysłano z ", ""),
        ("pobierz outlook", ""),
        ("pobierz program outlook", ""),
    ),
    *(("skickat från ", ""), ("skickades från ", ""), ("hämta outlook", "")),
    *(("sendt fra ", ""), ("hent outlook", ""), ("skaff outlook", ""), ("skaff deg outlook", "")),
    *(("odesláno z ", ""), ("získat outlook", ""), ("získejte outlook", "")),
    *(("отправлено с ", ""), ("отправлено из ", ""), ("скачать outlook", "")),
    *(("надіслано з ", ""), ("завантажити outlook", "")),
    *(
        ("发自我的", ""),
        ("從我的", "傳送"),
        ("从我的", "发送"),
        ("发送自", ""),
        ("获取 outlook", ""),
    ),
    *(("获取outlook", ""), ("取得 outlook", ""), ("下载 outlook", "")),
    *(("", "から送信"), ("", "を入手"), ("", "에서 보냄"), ("outlook for ", "받기")),
    *(("נשלח מה", ""), ("קבל את outlook", "")),
)
"""How the line begins and ends with which a program signs by itself."""

DEVICES = (
    *(
        "iphon",
        "ipad",
        "android",
        "galaxy",
        "samsung",
        "huawei",
        "xiaomi",
        "redmi",
        "pixel",
        "ios",
    ),
    *("outlook", "yahoo", "gmail", "proton", "mail", "mobil", "handy", "smartphone", "telefon"),
    *(
        "phone",
        "téléphone",
        "blackberry",
        "windows",
        "thunderbird",
        "телефон",
        "手机",
        "手機",
        "웹",
    ),
)
"""One of these stands in it, so that what a person says about sending isn't taken for it."""
